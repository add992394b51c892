"""A run in a notebook: how it ended, what its cycles were spent on, and its last output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Final

from rvsim.printable import printable

_MOST_LINES: Final = 12
_SMALL: Final = 0.005
"""Reasons with less than this share of the cycles are one row."""

_BAR: Final = (
    '<div style="width:{percent:.1f}%;min-width:1px;height:0.8em;background:#4c78a8"></div>'
)


def run_as_html(
    title: str, totals: Mapping[str, str], stalls: Mapping[str, float], output: bytes
) -> str:
    """HTML for a notebook; cycles by reason as bars, if there are any.

    >>> page = run_as_html("a.elf: exit 0", {"instructions": "2"}, {"issue": 1.0}, b"PASS <1>")
    >>> "PASS &lt;1&gt;" in page, "issue" in page
    (True, True)
    """
    parts = [f"<p><strong>{escape(title)}</strong></p>"]
    parts += _table((escape(name), escape(text)) for name, text in totals.items())
    parts += _table(_stall_rows(stalls))
    lines = [printable(line.expandtabs()) for line in output.splitlines()]
    if lines:
        left_out = ["…"] if len(lines) > _MOST_LINES else []
        text = "\n".join([*left_out, *lines[-_MOST_LINES:]])
        parts.append(f"<pre>{escape(text)}</pre>")
    return f"<div>{''.join(parts)}</div>"


def _stall_rows(stalls: Mapping[str, float]) -> Iterable[tuple[str, str, str, str]]:
    total = sum(stalls.values())
    shown = {name: n for name, n in stalls.items() if n >= _SMALL * total}
    rest = total - sum(shown.values())
    if rest:
        shown["other"] = rest
    for name, n in sorted(shown.items(), key=lambda item: (item[0] == "other", -item[1])):
        percent = 100 * n / total
        yield escape(name), f"{n:,.0f}", f"{percent:.1f} %", _BAR.format(percent=percent)


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return [f"<table>{body}</table>"] if body else []
