"""``rvsim list``: extensions, CPU profiles, cores and kernels."""

from __future__ import annotations

from collections import Counter

import click


@click.command(short_help="List what rvsim knows: isa, cpus, cores or kernels.")
@click.argument("what", type=click.Choice(["isa", "cpus", "cores", "kernels"]))
@click.argument("name", required=False, metavar="[EXTENSION|CORE]")
def command(what: str, name: str | None) -> int:
    """List extensions, CPU profiles, cores of the cost model, or kernels.

    With a name, list the instructions of an EXTENSION, or the numbers of a CORE with their sources;
    --core-set changes these numbers.
    """
    if name is None:
        {"isa": _extensions, "cpus": _cpus, "cores": _cores, "kernels": _kernels}[what]()
    elif what == "isa":
        _instructions(name.lower())
    elif what == "cores":
        _numbers(name)
    else:
        raise click.UsageError(f"rvsim list {what} takes no argument")
    return 0


def _extensions() -> None:
    from rvsim.cli.console import show, table
    from rvsim.insn.isa import isa
    from rvsim.profiles import extension_titles, profiles

    number = Counter(name for insn in isa().insns for name in insn.extensions)
    cpus = profiles()
    shown = table("extension", "instructions", *(c.name for c in cpus), "", right=("instructions",))
    for name, title in extension_titles().items():
        has = ("yes" if name in cpu.extensions else "-" for cpu in cpus)
        shown.add_row(name, str(number[name] or "-"), *has, title)
    show(shown)


def _instructions(extension: str) -> None:
    from rvsim.cli.console import show, table
    from rvsim.insn.isa import isa
    from rvsim.profiles import expand, extension_titles

    expand([extension])  # an unknown name is an error with a suggestion
    insns = [insn for insn in isa().insns if extension in insn.extensions]
    if not insns:
        title = extension_titles().get(extension, "a smallest VLEN")
        click.echo(f"{extension} ({title}) has no instructions of its own in rvsim")
        return
    shown = table("instruction", "operands", "class", "spec", "")
    for insn in insns:
        syntax = insn.syntax.replace(", vm", "[, v0.t]")
        shown.add_row(insn.name, syntax, insn.unit.value, insn.spec, insn.doc.partition("\n")[0])
    show(shown)


def _cpus() -> None:
    from rvsim.cli.console import show, table
    from rvsim.profiles import profiles

    shown = table("cpu", "VLEN", "misaligned vectors", "core", "", right=("VLEN",))
    for cpu in profiles():
        misaligned = "work" if cpu.misaligned_vector else "fault"
        shown.add_row(cpu.name, str(cpu.vlen), misaligned, cpu.core or "-", cpu.description)
    show(shown)


def _cores() -> None:
    from rvsim.cli.console import show, table
    from rvsim.cost import core_names, load_core

    shown = table("core", "")
    for name in core_names():
        shown.add_row(name, load_core(name).name)
    show(shown)


def _numbers(core: str) -> None:
    from rvsim.cli.console import show, table
    from rvsim.cost import describe

    shown = table("number", "value", "", "source", right=("value",))
    for name, value, source, confidence in describe(core):
        shown.add_row(name, str(value), confidence, source)
    show(shown)


def _kernels() -> None:
    from rvsim.cli.console import show, table
    from rvsim.toolchain import find_kernel, kernel_names

    shown = table("kernel", "")
    for name in kernel_names():
        kernel = find_kernel(name)
        readme = (kernel.folder / "README.md").read_text("utf-8")
        shown.add_row(name, kernel.variant or _title(readme))
    show(shown)


def _title(readme: str) -> str:
    """The first sentence of a README after its heading."""
    body = readme.partition("\n")[2].strip().partition("\n\n")[0]
    return " ".join(body.split()).partition(". ")[0].rstrip(".")
