"""``rvsim diff-trace``: the first place where two traces of a program differ."""

from __future__ import annotations

from collections.abc import Sequence
from io import BufferedReader
from typing import TYPE_CHECKING, Final

import click

from rvsim.cli.console import note
from rvsim.printable import printable

if TYPE_CHECKING:
    from rvsim.trace.commit_log import Commit, LogComparison
    from rvsim.trace.row_files import Row, RowComparison

_DIFFERENT = 1
_LONGEST_LINE = 200
_SHOWN: Final = ("issue", "wait", "reason", "lost", "lost_reason")
_ADDRESSES: Final = frozenset({"pc", "word", "vtype", "addr", "charged"})


@click.command(short_help="Show the first place where two traces of a program differ.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--only",
    multiple=True,
    metavar="COLUMN",
    help="Compare only this column of traces of rows; may be repeated. By default, all columns.",
)
def command(a: str, b: str, only: tuple[str, ...]) -> int:
    """Compare two traces of a program: commit logs, or rows.

    rvsim run --trace spike:FILE and Spike write commit logs.  One log may begin earlier, as Spike's
    does in its boot ROM.  Vector registers and CSRs that only one log lists are no difference.
    --trace npy:FILE and parquet:FILE write rows; the columns that both files have are compared.
    Exit code: 0 if the traces agree, 1 if not.
    """
    from rvsim.trace.files import open_trace
    from rvsim.trace.row_files import has_rows

    with open_trace(a) as ours, open_trace(b) as theirs:
        rows = has_rows(ours), has_rows(theirs)
        if rows[0] != rows[1]:
            one, other = (a, b) if rows[0] else (b, a)
            raise click.UsageError(f"{one} has rows, and {other} has none: compare two of a kind")
        if all(rows):
            return _compare_rows(ours, theirs, only)
        if only:
            raise click.UsageError("--only is for traces of rows: these are commit logs")
        return _compare_logs(ours, theirs)


def _compare_logs(a: BufferedReader, b: BufferedReader) -> int:
    from rvsim.trace.commit_log import compare_logs, read_log

    found = compare_logs(read_log(a), read_log(b))
    if not found.differences:
        click.echo(f"the traces agree: {found.agreed:,} instructions")
        return 0
    _show(found)
    return _DIFFERENT


def _compare_rows(a: BufferedReader, b: BufferedReader, only: Sequence[str]) -> int:
    from rvsim.trace.row_files import compare_rows, read_rows

    found = compare_rows(read_rows(a), read_rows(b), only)
    if found.alone:
        note(f"only one of the traces has {', '.join(found.alone)}")
    if found.same:
        click.echo(f"the traces agree: {found.agreed:,} instructions")
        return 0
    _show_rows(found)
    return _DIFFERENT


def _show_rows(found: RowComparison) -> None:
    what = ", ".join(found.columns) or f"{'A' if found.a is None else 'B'} has ended"
    click.echo(f"the traces differ after {found.agreed:,} instructions: {what}")
    for row in found.before:
        click.echo(f"    {_row_text(row)}")
    for name, other in (("A", found.a), ("B", found.b)):
        click.echo(f"  {name} {'(end)' if other is None else _row_text(other)}")
    for column in found.columns:
        assert found.a is not None
        assert found.b is not None
        click.echo(f"  {column}: {_value(found.a, column)} in A, {_value(found.b, column)} in B")


def _row_text(row: Row) -> str:
    """The instruction, and when and why it waited, if the row has these columns."""
    pc, word = row.get("pc"), row.get("word")
    parts = [_instruction(pc, word)] if isinstance(pc, int) and isinstance(word, int) else []
    parts += [f"{name} {_value(row, name)}" for name in _SHOWN if row.get(name)]
    return "  ".join(parts)


def _value(row: Row, column: str) -> str:
    match row[column]:
        case bytes(text):
            return printable(text) or "-"
        case int(number) if column in _ADDRESSES:
            return f"{number:#x}"
        case value:
            return f"{value:,}".removesuffix(".0") if isinstance(value, float) else str(value)


def _show(found: LogComparison) -> None:
    click.echo(f"the traces differ after {found.agreed:,} instructions: {found.differences[0]}")
    for difference in found.differences[1:]:
        click.echo(f"  {difference}")
    for commit in found.before:
        click.echo(f"    {_line(commit)}")
    click.echo(f"  A {_line(found.a)}")
    click.echo(f"  B {_line(found.b)}")
    differing = found.a or found.b
    assert differing is not None
    click.echo(f"  {_instruction(differing.pc, differing.word)}")


def _line(commit: Commit | None) -> str:
    if commit is None:
        return "(end)"
    text = printable(commit.text)
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]} ..."


def _instruction(pc: int, word: int) -> str:
    from rvsim.insn.decode import decode, length_of
    from rvsim.insn.disasm import disassemble

    return f"{pc:#x}: {disassemble(decode(word, length_of(word), pc))}"
