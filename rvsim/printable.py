"""Text that others wrote, as it may be shown: nothing in it moves a cursor or turns a line around.

Names of symbols, files and sections, of paths that the program opens, and errors that quote them
go through here on their way to a terminal, a trace or a page.
"""

from __future__ import annotations

from typing import Final

_FIRST_RAW_BYTE: Final = 0xDC80
_LAST_RAW_BYTE: Final = 0xDCFF


def printable(text: str | bytes) -> str:
    r"""One line of text, with all that is no printable character escaped as in a Python string.

    That takes in control characters, those that change the direction of writing, and bytes that are
    no UTF-8, also where Python has made lone surrogates of them.

    >>> printable("caf\xe9 \x1b[31m\u202e\n"), printable(b"\xff\x7f"), printable("\udcff")
    ('café \\x1b[31m\\u202e\\n', '\\xff\\x7f', '\\xff')
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    return text if text.isprintable() else "".join(map(_escaped, text))


def printable_lines(text: str) -> str:
    r"""The same for text of several lines, and tabs, that rvsim has put together itself.

    >>> printable_lines("what:\n\tx\r\x07")
    'what:\n\tx\\r\\x07'
    """
    parts = ("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))
    return "\n".join(parts)


def source_line(text: str) -> str:
    r"""A line of a source file; tabs reach to the next of the usual columns.

    >>> source_line("\tx;\x0c")
    '        x;\\x0c'
    """
    return printable(text.expandtabs())


def _escaped(character: str) -> str:
    code = ord(character)
    if _FIRST_RAW_BYTE <= code <= _LAST_RAW_BYTE:
        return f"\\x{code & 0xFF:02x}"
    return character if character.isprintable() else repr(character)[1:-1]
