"""The table of commands.  Each is a module of `rvsim.cli`, imported when the command runs."""

from __future__ import annotations

import importlib
from typing import Any, Final

import click

from rvsim import __version__
from rvsim.errors import did_you_mean

COMMANDS: Final = {
    "run": "Run a RISC-V executable.",
    "profile": "Show the hottest functions and lines, by cycles.",
    "annotate": "Show the cycles of each instruction, and what bounds each loop.",
    "timeline": "Show iterations of a loop in the pipeline, cycle by cycle.",
    "compare": "Compare the cycles of several executables.",
    "report": "Write a page with the cycles, hot loops and roofline of executables.",
    "diff-trace": "Show the first place where two traces of a program differ.",
    "build": "Cross-compile a bundled kernel or C and assembly files.",
    "dis": "Disassemble an executable or instruction words.",
    "explain": "Explain an instruction: fields, formula, registers, rules.",
    "list": "List what rvsim knows: isa, cpus, cores or kernels.",
    "doctor": "Check the cross compiler, QEMU and the host.",
}
"""Commands with their help; the module is ``rvsim.cli.<name>_command``, with _ for -."""


class LazyGroup(click.Group):
    """A group that imports a command only when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"rvsim.cli.{name.replace('-', '_')}_command")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(f"no such command '{name}': {_way_out(name)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _way_out(name: str) -> str:
    otherwise = f"commands are {', '.join(COMMANDS)}"
    if name.endswith(".elf"):
        otherwise = f"to run a file, write: rvsim run {name}"
    return did_you_mean(name, COMMANDS, otherwise=otherwise)


_SETTINGS: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=LazyGroup, context_settings=_SETTINGS, no_args_is_help=False)
@click.version_option(__version__, message="rvsim %(version)s")
def rvsim() -> None:
    """Simulate RISC-V vector (RVV 1.0) and SpacemiT IME kernels.

    Start with: rvsim run gemm_tile_s8.elf --vlen 256
    """
