"""``rvsim run``: a program runs, its output passes through, its exit code is ours."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rvsim.cli.console import note
from rvsim.cli.guest_options import GUEST_OPTIONS, guest_options
from rvsim.cli.options import cpu_option, isa_option, size, trace_file, vlen_option
from rvsim.errors import RvsimError

if TYPE_CHECKING:
    from rvsim.cli.output import JsonFile
    from rvsim.machine import Machine, RunResult
    from rvsim.trace.spike import SpikeLog

_NO_WAY_OUT: Final = (
    "it has made no system call: a bare-metal image ends by a store to its symbol tohost,"
    " and this file has no such symbol"
)
_GUEST_ARGS: Final = "rvsim.guest_args"


class RunCommand(click.Command):
    """Takes what follows ``--`` out of click's hands: it belongs to the guest."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            cut = args.index("--")
            ctx.meta[_GUEST_ARGS] = args[cut + 1 :]
            args = args[:cut]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if "unexpected extra argument" in error.format_message():
                hint = "guest arguments follow --, as in: rvsim run FILE -- ARGS"
                raise click.UsageError(f"{error.format_message().rstrip('.')}: {hint}") from None
            raise


@dataclass(slots=True)
class Options:
    """What the command line asked for."""

    file: str
    guest_args: list[str]
    machine: dict[str, Any]
    guest: dict[str, Any]
    max_insns: int | None
    timeout: float | None
    stats: bool
    json: str | None
    trace: str | None
    strace: bool


@click.command(cls=RunCommand, short_help="Run a RISC-V executable.")
@click.argument("file")
@cpu_option
@isa_option
@vlen_option
@click.option(
    "--agnostic",
    metavar="POLICY",
    default="undisturbed",
    show_default=True,
    help="What agnostic elements become: undisturbed, ones or random:SEED.",
)
@click.option(
    "--vl-policy",
    type=click.Choice(["max", "half"]),
    default="max",
    show_default=True,
    help="vl for VLMAX < AVL < 2*VLMAX: VLMAX, or half of AVL.",
)
@click.option(
    "--reserved",
    type=click.Choice(["trap", "allow"]),
    default="trap",
    show_default=True,
    help="Reserved encodings trap, or do what Spike and QEMU do.",
)
@click.option(
    "--reduction-order",
    metavar="ORDER",
    default="sequential",
    show_default=True,
    help="Order of unordered floating-point sums: sequential, tree or random:SEED.",
)
@click.option(
    "--no-host-float",
    "host_float",
    is_flag=True,
    default=True,
    flag_value=False,
    help="Compute floating point with integers only, to tell a fault of the host's from ours.",
)
@click.option(
    "--engine",
    type=click.Choice(["jit", "numpy"]),
    default="jit",
    show_default=True,
    help="jit compiles hot code; numpy is the reference, which also executes what is traced.",
)
@click.option(
    "--no-cache",
    "cache",
    is_flag=True,
    default=True,
    flag_value=False,
    help="Neither use nor keep what the engine jit compiled.",
)
@click.option(
    "--memory",
    callback=size,
    metavar="SIZE",
    default="4G",
    show_default=True,
    help="Size of the guest's address space.",
)
@click.option(
    "--max-insns",
    type=click.IntRange(min=0),
    metavar="N",
    help="Stop after N instructions with exit code 124.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Stop after so many seconds with exit code 124.",
)
@click.option(
    "--stats",
    is_flag=True,
    help="Show what ran on stderr: classes, vector instructions, memory bytes.",
)
@click.option(
    "--json",
    metavar="FILE",
    help="Write the result and the statistics as JSON; - is stdout, after the guest's.",
)
@click.option(
    "--trace", callback=trace_file, metavar="spike:FILE", help="Write Spike's commit log."
)
@click.option("--strace", is_flag=True, help="Show system calls on stderr.")
@guest_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: str,
    max_insns: int | None,
    timeout: float | None,
    stats: bool,
    json: str | None,
    trace: str | None,
    strace: bool,
    memory: int,
    cpu: str | None,
    **others: Any,
) -> int:  # fmt: skip
    """Run a RISC-V executable, or a bundled kernel by its name.

    Options may stand before or after FILE; arguments for the program follow --.

    The exit code is the program's own, 128 + signal after a trap, 124 when a limit was reached,
    2 for bad usage or input, 125 for a fault of rvsim itself.
    """
    guest = {name: others.pop(name) for name in GUEST_OPTIONS}
    machine = others | {"memory_size": memory} | ({"cpu": cpu} if cpu is not None else {})
    args = ctx.meta.get(_GUEST_ARGS, [])
    return run(Options(file, args, machine, guest, max_insns, timeout, stats, json, trace, strace))


def run(options: Options) -> int:
    """Prepare all that may fail before the first instruction, run, and report."""
    from rvsim.cli.output import JsonFile

    machine, log = _make_machine(options)
    machine.load(
        _executable(options.file),
        argv=[options.file, *options.guest_args],
        stdin=getattr(sys.stdin, "buffer", None),
        stdout=_sink(sys.stdout),
        stderr=_sink(sys.stderr),
        strace=_strace if options.strace else None,
        **options.guest,
    )
    with ExitStack() as closing:
        json_file = closing.enter_context(JsonFile(options.json)) if options.json else None
        if log is not None and options.trace is not None:
            log.open(machine, options.trace)
            closing.callback(log.close)
        with _place_of_interrupt(machine):
            result = machine.run(max_insns=options.max_insns, timeout=options.timeout)
        _report(options, machine, result)
        if options.stats or json_file is not None:
            _write_counts(options, result, json_file)
    return result.exit_code


def _make_machine(options: Options) -> tuple[Machine, SpikeLog | None]:
    from rvsim.machine import Machine

    log = None
    hooks: dict[str, Any] = {}
    if options.trace is not None:
        from rvsim.trace.spike import SpikeLog

        log = SpikeLog()
        hooks = log.hooks()
    statistics = options.stats or options.json is not None
    return Machine(note=note, statistics=statistics, **hooks, **options.machine), log


def _executable(file: str) -> str:
    """The file, or a bundled kernel of that name, built if need be."""
    from rvsim.toolchain import build_kernel, find_kernel, kernel_names

    if Path(file).exists():
        return file
    stem = file.removesuffix(".elf")
    if stem in kernel_names():
        note(f"there is no file {file}: building the bundled kernel {stem}")
        return str(build_kernel(stem))
    if "/" not in file:
        try:
            find_kernel(file)
        except RvsimError as error:
            raise RvsimError(f"there is no file {file}, nor a kernel", hint=error.hint) from None
    return file


def _sink(stream: Any) -> Callable[[bytes], object]:
    """Passes the guest's bytes on at once, in order with what rvsim itself writes."""
    binary = stream.buffer

    def write(output: bytes) -> None:
        try:
            stream.flush()
            binary.write(output)
            binary.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise RvsimError(f"cannot write the guest's output: {error.strerror}") from None

    return write


def _strace(line: str) -> None:
    click.echo(line, err=True)


@contextmanager
def _place_of_interrupt(machine: Machine) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        state = machine.state
        where = machine.place(state["pc"])
        raise click.Abort(
            f"interrupted after {state['instret']} instructions, near {where}"
        ) from None


def _report(options: Options, machine: Machine, result: RunResult) -> None:
    """Say on stderr why the program did not end by itself."""
    if result.trap is not None:
        from rvsim.report import recent_report, trap_report

        click.echo(f"rvsim: {trap_report(machine, result.trap)}", err=True)
        recent = recent_report(machine)
        if recent:
            click.echo(recent, err=True)
    elif result.reason != "exit":
        limits = {"max_insns": f"--max-insns {options.max_insns}"}
        limit = limits.get(result.reason, f"--timeout {options.timeout}")
        done = f"{result.instret} instructions"
        where = machine.place(machine.state["pc"])
        click.echo(f"rvsim: limit {limit} reached after {done}, at {where}", err=True)
        if machine.process is not None and not machine.process.has_called:
            click.echo(f"  {_NO_WAY_OUT}", err=True)


def _write_counts(options: Options, result: RunResult, json_file: JsonFile | None) -> None:
    from rvsim.cli.output import run_as_json, show_counts
    from rvsim.trace.counters import counts

    counted = counts(result.machine)
    if options.stats:
        show_counts(counted)
    if json_file is not None:
        json_file.write(run_as_json(options.file, options.guest_args, result, counted))
