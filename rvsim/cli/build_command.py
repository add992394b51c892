"""``rvsim build``: bundled kernels, or C and assembly files with the kernels' runtime."""

from __future__ import annotations

from pathlib import Path

import click

from rvsim.errors import RvsimError

COMPILE_FAILED = 1


@click.command(short_help="Cross-compile a bundled kernel or C and assembly files.")
@click.argument("sources", nargs=-1, required=True, metavar="KERNEL|FILE.c...")
@click.option("-o", "--out", metavar="OUT", help="The executable; by default its name with .elf.")
def command(sources: tuple[str, ...], out: str | None) -> int:
    """Cross-compile a bundled kernel, or C and assembly files, into a static RISC-V executable.

    The files are linked with the kernels' small freestanding runtime.  The exit code is 1, and
    stderr has the compiler's own text, where the sources do not compile.
    """
    from rvsim.toolchain import CompileError

    try:
        made = _build(sources, Path(out) if out is not None else None)
    except CompileError as error:
        click.echo(error.output, err=True, nl=not error.output.endswith("\n"))
        return COMPILE_FAILED
    click.echo(str(made))
    return 0


def _build(sources: tuple[str, ...], out: Path | None) -> Path:
    from rvsim.toolchain import build, build_kernel, find_kernel

    paths = [Path(source) for source in sources]
    if any(path.suffix in (".c", ".S", ".s") for path in paths):
        unknown = next((p for p in paths if p.suffix not in (".c", ".S", ".s")), None)
        if unknown is not None:
            raise RvsimError(f"{unknown} is no C or assembly file", hint="name kernels alone")
        return build(paths, out or Path(f"{paths[0].stem}.elf"))
    if len(sources) > 1:
        raise RvsimError(f"{' '.join(sources)}: one kernel at a time")
    kernel = find_kernel(sources[0])
    built = build_kernel(kernel.name)
    target = out or Path(f"{kernel.name}.elf")
    _copy(built, target)
    return target


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
