"""``rvsim explain``: everything that the definition of an instruction says about a word."""

from __future__ import annotations

import click

from rvsim.cli.options import cpu_option, isa_option, vlen_option
from rvsim.errors import RvsimError


@click.command(short_help="Explain an instruction: fields, formula, registers, rules.")
@click.argument("what", metavar="WORD|MNEMONIC")
@click.option("--vtype", metavar="e8,m2", help="The vtype for a vector instruction.")
@click.option(
    "--reserved",
    type=click.Choice(["trap", "allow"]),
    default="trap",
    show_default=True,
    help="What reserved encodings do.",
)
@vlen_option
@cpu_option
@isa_option
def command(
    what: str,
    vtype: str | None,
    reserved: str,
    vlen: int | None,
    cpu: str | None,
    isa: str | None,
) -> int:  # fmt: skip
    """Explain an instruction WORD in hex, or what all words with one MNEMONIC have in common.

    Shows fields, formula, the registers of its groups, the rules that apply to it,
    and whether it is legal under a vtype, VLEN and CPU.
    """
    from typing import cast

    from rvsim.cli.explanation import explain_insn, explain_word
    from rvsim.cli.words import is_word, parse_word
    from rvsim.config import Reserved
    from rvsim.profiles import DEFAULT_CPU, make_config
    from rvsim.vec.vtype import VType

    config = make_config(
        cpu or DEFAULT_CPU, isa=isa, vlen=vlen, reserved=cast("Reserved", reserved)
    )
    chosen = None if vtype is None else VType.parse(vtype)
    if chosen is not None and not chosen.supported(config.elen):
        raise RvsimError(f"vtype {chosen} is not supported: vset* would set vill (V 3.4.2)")
    if is_word(what):
        lines = explain_word(parse_word(what), config, chosen)
    else:
        lines = explain_insn(what, config, chosen)
    for line in lines:
        click.echo(line)
    return 0
