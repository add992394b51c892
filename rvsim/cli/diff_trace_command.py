"""``rvsim diff-trace``: the first place where two traces of a program differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rvsim.trace.commit_log import Commit, Comparison

_DIFFERENT = 1
_LONGEST_LINE = 200


@click.command(short_help="Show the first place where two traces of a program differ.")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
def command(a: str, b: str) -> int:
    """Compare two commit logs of a program, as rvsim run --trace spike:FILE or Spike writes them.

    One of them may begin earlier, as Spike's does in its boot ROM.  Vector registers and CSRs
    that only one log lists are no difference.  Exit code: 0 if they agree, 1 if not.
    """
    from rvsim.trace.commit_log import compare_logs, read_log

    found = compare_logs(read_log(a), read_log(b))
    if not found.differences:
        click.echo(f"the traces agree: {found.agreed:,} instructions")
        return 0
    _show(found)
    return _DIFFERENT


def _show(found: Comparison) -> None:
    click.echo(f"the traces differ after {found.agreed:,} instructions: {found.differences[0]}")
    for difference in found.differences[1:]:
        click.echo(f"  {difference}")
    for commit in found.before:
        click.echo(f"    {_line(commit)}")
    click.echo(f"  A {_line(found.a)}")
    click.echo(f"  B {_line(found.b)}")
    differing = found.a or found.b
    assert differing is not None
    click.echo(f"  {_instruction(differing)}")


def _line(commit: Commit | None) -> str:
    if commit is None:
        return "(end)"
    text = commit.text
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]} ..."


def _instruction(commit: Commit) -> str:
    from rvsim.decode import decode
    from rvsim.disasm import disassemble

    length = 4 if commit.word & 3 == 3 else 2
    return f"{commit.pc:#x}: {disassemble(decode(commit.word, length, commit.pc))}"
