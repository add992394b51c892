"""``rvsim build``: bundled kernels, or C and assembly files with the kernels' runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rvsim.cli.console import note
from rvsim.cli.options import cpu_option
from rvsim.errors import RvsimError
from rvsim.profiles import DEFAULT_CPU

if TYPE_CHECKING:
    from rvsim.toolchain import KernelSource

COMPILE_FAILED = 1
_SUFFIXES = (".c", ".S", ".s")


@click.command(short_help="Cross-compile a bundled kernel or C and assembly files.")
@click.argument("sources", nargs=-1, required=True, metavar="KERNEL|FOLDER|FILE.c...")
@click.option("-o", "--out", metavar="OUT", help="The executable; by default its name with .elf.")
@click.option(
    "-D",
    "macros",
    multiple=True,
    metavar="MACRO[=VALUE]",
    help="Define a macro, as C compilers do; may be repeated.",
)
@cpu_option
@click.option(
    "--sources",
    "copy_to",
    metavar="FOLDER",
    help="Write the sources of a bundled kernel there, to be changed, and build nothing.",
)
def command(
    sources: tuple[str, ...],
    out: str | None,
    macros: tuple[str, ...],
    cpu: str | None,
    copy_to: str | None,
) -> int:
    """Cross-compile a bundled kernel, or C and assembly files, into a static RISC-V executable.

    A FOLDER stands for all C and assembly files in it, compiled as the bundled kernels are: with
    no vector code but what the sources say.  FILEs may be vectorised by the compiler.  All are
    linked with the kernels' small freestanding runtime, and compiled for --cpu.  The exit code is
    1, and stderr has the compiler's own text, where the sources do not compile.
    """
    from rvsim.toolchain import CompileError

    if copy_to is not None:
        if out is not None or macros or cpu is not None:
            raise click.UsageError("--sources builds nothing: it goes with no other option")
        return _copy_sources(sources, Path(copy_to))
    try:
        made = _build(sources, Path(out) if out is not None else None, macros, cpu or DEFAULT_CPU)
    except CompileError as error:
        click.echo(error.output, err=True, nl=not error.output.endswith("\n"))
        return COMPILE_FAILED
    click.echo(str(made))
    return 0


def _build(sources: tuple[str, ...], out: Path | None, macros: tuple[str, ...], cpu: str) -> Path:
    from rvsim.toolchain import build, build_kernel, kernel_in

    defines = [f"-D{macro}" for macro in macros]
    paths = [Path(source) for source in sources]
    if any(path.suffix in _SUFFIXES for path in paths):
        unknown = next((p for p in paths if p.suffix not in _SUFFIXES), None)
        if unknown is not None:
            raise RvsimError(f"{unknown} is no C or assembly file", hint="name kernels alone")
        target = out or Path(f"{paths[0].stem}.elf")
        return build(paths, target, extra_args=defines, cpu=cpu)
    own = len(paths) == 1 and paths[0].is_dir()
    kernel = kernel_in(paths[0]) if own else _bundled(sources)
    target = out or Path(f"{kernel.name}.elf")
    if own or macros:
        return build(kernel.sources, target, extra_args=[*kernel.flags, *defines], cpu=cpu)
    _copy(build_kernel(kernel.name, cpu=cpu), target)
    return target


def _bundled(sources: tuple[str, ...]) -> KernelSource:
    from rvsim.toolchain import find_kernel

    if len(sources) > 1:
        raise RvsimError(f"{' '.join(sources)}: one kernel at a time")
    return find_kernel(sources[0])


def _copy_sources(sources: tuple[str, ...], folder: Path) -> int:
    from rvsim.toolchain import copy_sources

    kernel = _bundled(sources)
    for path in copy_sources(kernel, folder):
        click.echo(str(path))
    options = "".join(f" -D {macro}" for macro in kernel.macros)
    note(f"to build them: rvsim build {folder}{options}")
    return 0


def _copy(built: Path, target: Path) -> None:
    import shutil

    try:
        if target.exists() and not target.is_file():
            raise RvsimError(f"cannot write {target}: not a regular file")
        partial = target.with_name(f".{target.name}.part")
        shutil.copyfile(built, partial)
        partial.chmod(0o755)
        partial.replace(target)
    except OSError as error:
        raise RvsimError(f"cannot write {target}: {error.strerror}") from None
