"""The common part of commands that run a program: its file, arguments, output and end."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from rvsim.cli.console import note
from rvsim.cli.guest_options import GUEST_OPTIONS
from rvsim.cli.machine_options import MACHINE_OPTIONS
from rvsim.errors import RvsimError

if TYPE_CHECKING:
    from rvsim.machine import Machine, RunOptions, RunResult

_NOTED: Final = "rvsim.noted"
_GUEST_ARGS: Final = "rvsim.guest_args"


class GuestCommand(click.Command):
    """A command whose arguments after ``--`` belong to the guest, and not to click."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            cut = args.index("--")
            ctx.meta[_GUEST_ARGS] = args[cut + 1 :]
            args = args[:cut]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if "unexpected extra argument" in error.format_message():
                hint = f"guest arguments follow --, as in: rvsim {ctx.info_name} FILE -- ARGS"
                raise click.UsageError(f"{error.format_message().rstrip('.')}: {hint}") from None
            raise


@dataclass(frozen=True, slots=True)
class Guest:
    """The options of the program, its machine and its limits, from the command line."""

    args: list[str]
    options: RunOptions
    load: dict[str, Any]
    max_insns: int | None
    timeout: float | None

    @property
    def cpu(self) -> str:
        """The CPU profile."""
        return self.options.cpu

    @staticmethod
    def take(ctx: click.Context, values: dict[str, Any]) -> Guest:
        """Take the options of `machine_options` and `guest_options` out of `values`."""
        machine = {name: values.pop(name) for name in MACHINE_OPTIONS}
        machine["memory_size"] = machine.pop("memory")
        if machine["cpu"] is None:
            del machine["cpu"]
        from rvsim.machine import RunOptions

        return Guest(
            ctx.meta.get(_GUEST_ARGS, []),
            RunOptions(**machine),
            {name: values.pop(name) for name in GUEST_OPTIONS},
            values.pop("max_insns"),
            values.pop("timeout"),
        )


def load(
    machine: Machine,
    file: str,
    guest: Guest,
    stdout: Callable[[bytes], object] | None,
    stderr: Callable[[bytes], object] | None,
    strace: Callable[[str], object] | None = None,
) -> None:
    """Load the program; without `stdout` and `stderr` its output goes to the result.

    `strace` gets a line for each system call.
    """
    machine.load(
        executable(file, guest.cpu),
        argv=[file, *guest.args],
        stdin=getattr(sys.stdin, "buffer", None),
        stdout=stdout,
        stderr=stderr,
        strace=strace,
        **guest.load,
    )


def run(machine: Machine, guest: Guest, ended: Callable[[], object] = lambda: None) -> RunResult:
    """Run the program to its end or to a limit; if it did not end by itself, print why to stderr.

    `ended` is called before anything is printed.
    """
    with _place_of_interrupt(machine):
        try:
            result = machine.run(max_insns=guest.max_insns, timeout=guest.timeout)
        finally:
            ended()
    _report(guest, machine, result)
    return result


def run_until_enough(machine: Machine, guest: Guest, last: int) -> RunResult | None:
    """Run the program until an observer stops it, for at most `last` instructions.

    None if one of these two ended the run.
    """
    asked = guest.max_insns
    most = last if asked is None else min(asked, last)
    with _place_of_interrupt(machine):
        result = machine.run(max_insns=most, timeout=guest.timeout)
    if result.reason == "stop" or (result.reason == "max_insns" and most != asked):
        return None
    _report(guest, machine, result)
    return result


def executable(file: str, cpu: str) -> str:
    """The file; if it does not exist, the bundled kernel of that name, built if necessary."""
    from rvsim.toolchain import build_kernel, find_kernel, kernel_names

    if Path(file).exists():
        return file
    stem = file.removesuffix(".elf")
    if stem in kernel_names():
        noted = click.get_current_context().meta.setdefault(_NOTED, set())
        if file not in noted:
            note(f"there is no file {file}: building the bundled kernel {stem}")
            noted.add(file)
        return str(build_kernel(stem, cpu=cpu))
    if "/" not in file:
        try:
            find_kernel(file)
        except RvsimError as error:
            raise RvsimError(f"there is no file {file}, nor a kernel", hint=error.hint) from None
    return file


def sink(stream: Any) -> Callable[[bytes], object]:
    """A function that writes the guest's bytes at once, in order with rvsim's own output."""
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


class Stopped(click.Abort):
    """A signal ended the run; the exit code is the one that a shell shows for the signal."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text)
        self.exit_code = 128 + number


class _Signalled(KeyboardInterrupt):
    """SIGTERM or SIGHUP, for which Python itself raises no exception."""


def _signalled(number: int, frame: FrameType | None) -> NoReturn:
    raise _Signalled(number)


@contextmanager
def _place_of_interrupt(machine: Machine) -> Iterator[None]:
    """Say where the program was when a signal ended the run; files are completed afterwards."""
    ours = [n for n in (signal.SIGTERM, signal.SIGHUP) if _ends_the_process(n)]
    for number in ours:
        signal.signal(number, _signalled)
    try:
        yield
    except KeyboardInterrupt as stop:
        number = signal.Signals(stop.args[0] if isinstance(stop, _Signalled) else signal.SIGINT)
        what = "interrupted" if number == signal.SIGINT else f"stopped by {number.name}"
        state = machine.state
        where = machine.place(state["pc"])
        text = f"{what} after {state['instret']} instructions, near {where}"
        raise Stopped(text, number) from None
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _ends_the_process(number: int) -> bool:
    """Whether a signal ends the process: not if it is ignored (nohup), and not in other threads."""
    in_main = threading.current_thread() is threading.main_thread()
    return in_main and signal.getsignal(number) is signal.SIG_DFL


def _report(guest: Guest, machine: Machine, result: RunResult) -> None:
    """Print to stderr why the program did not end by itself."""
    if result.trap is not None:
        from rvsim.machine.trap_report import recent_report, trap_report

        click.echo(f"rvsim: {trap_report(machine, result.trap)}", err=True)
        recent = recent_report(machine)
        if recent:
            click.echo(recent, err=True)
    elif result.reason != "exit":
        limits = {"max_insns": f"--max-insns {guest.max_insns}"}
        limit = limits.get(result.reason, f"--timeout {guest.timeout}")
        done = f"{result.instret} instructions"
        where = machine.place(machine.state["pc"])
        click.echo(f"rvsim: limit {limit} reached after {done}, at {where}", err=True)
        no_way_out = machine.environment.no_way_out()
        if no_way_out is not None:
            click.echo(f"  {no_way_out}", err=True)
