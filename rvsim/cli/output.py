"""Output of a run: statistics as tables, results as JSON."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from rvsim.cli.console import show, table
from rvsim.errors import RvsimError
from rvsim.hart.initial import Initial
from rvsim.host.outputs import OutputPlace
from rvsim.machine import RunResult
from rvsim.perf import Profile
from rvsim.trace.counters import Counts

SCHEMA: Final = 1


def keep_apart(program: str, outputs: Sequence[str]) -> None:
    """RvsimError if an output is the program, or is written twice."""
    known: dict[object, str] = {}
    if os.path.isfile(program):  # and not the name of a kernel
        known[_identity(program)] = "is the program"
    for path in outputs:
        if os.path.exists(path) and not os.path.isfile(path):
            continue  # a device or a pipe may be written twice
        if (clash := known.get(_identity(path))) is not None:
            raise RvsimError(f"cannot write {path}: it {clash}", hint="name another file")
        known[_identity(path)] = "is written already by another option"


def _identity(path: str) -> object:
    """A key that is the same for all names of a file."""
    try:
        found = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return found.st_dev, found.st_ino


class WholeFile:
    """An output file for one text, opened before the run so that errors show early.

    A regular file is replaced when the text is complete, and never half-written.  ``-`` is stdout,
    after the guest's output.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: IO[str] | None = None
        self._place: OutputPlace | None = None
        self._partial: str | None = None

    def __enter__(self) -> Self:
        try:
            if self.path != "-":
                self._open()
        except OSError as error:
            raise self._error(error) from None
        return self

    def _open(self) -> None:
        path = Path(self.path)
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115 (a pipe or device)
            return
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(13, os.strerror(13))
        self._place = OutputPlace(self.path)
        handle, self._partial = self._place.create_beside()
        self._file = open(handle, "w", encoding="utf-8")  # noqa: SIM115 (closed by `write`)

    def _error(self, error: OSError) -> RvsimError:
        place = "to standard output" if self.path == "-" else self.path
        return RvsimError(f"cannot write {place}: {error.strerror}")

    def write_text(self, text: str) -> None:
        """Write the text, and replace the file."""
        try:
            if self._file is None:
                sys.stdout.write(text)
                return
            with self._file as file:
                file.write(text)
                if self._partial is not None:
                    umask = os.umask(0)
                    os.umask(umask)
                    _set_mode(file, 0o666 & ~umask)
            if self._partial is not None and self._place is not None:
                self._place.replace_with(self._partial)
                self._partial = None
        except OSError as error:
            if self._file is None and isinstance(error, BrokenPipeError):
                raise
            raise self._error(error) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
        if self._place is not None:
            if self._partial is not None:
                self._place.remove(self._partial)
            self._place.close()


def _set_mode(file: IO[str], mode: int) -> None:
    """Set the mode by the descriptor: the name may belong to another file by now."""
    if os.chmod in os.supports_fd:
        os.chmod(file.fileno(), mode)


class JsonFile(WholeFile):
    """An output file for one JSON object; on stdout it is one line."""

    def write(self, content: dict[str, Any]) -> None:
        """Write the object."""
        indent = None if self.path == "-" else 2
        # JSON allows DEL in a string, and json.dumps does not escape it.
        text = json.dumps(content, indent=indent).replace("\x7f", "\\u007f")
        self.write_text(f"{text}\n")


def run_as_json(
    file: str,
    guest_args: list[str],
    result: RunResult,
    counted: Counts,
    profile: Profile | None = None,
) -> dict[str, Any]:
    """The result of a run as plain data, with its cycles if there is a `profile`."""
    config = result.machine.config
    trap = result.trap
    return {
        "schema": SCHEMA,
        "file": file,
        "args": guest_args,
        "config": {
            "extensions": sorted(config.extensions),
            "vlen": config.vlen,
            "agnostic": config.agnostic,
            "seed": config.seed,
            "vl_policy": config.vl_policy,
            "reserved": config.reserved,
            "user_counters": config.user_counters,
            "syscall_vector": result.machine.options.syscall_vector,
            "initial": str(Initial.parse(result.machine.options.initial)),
            "reduction_order": config.reduction_order,
            "reduction_seed": config.reduction_seed,
            "host_float": config.host_float,
            "host": result.machine.options.host,
            "memory_bytes": result.machine.memory.limit,
        },
        "reason": result.reason,
        "exit_code": result.exit_code,
        "trap": trap
        and {
            "cause": trap.cause,
            "pc": trap.pc,
            "tval": trap.tval,
            "why": trap.why,
            "place": result.machine.place(trap.pc),
        },
        "counts": counted.as_json(),
        "cycles": profile and profile.as_json(),
    }


def show_counts(counted: Counts) -> None:
    """Print the statistics as tables to stderr, after the guest's output."""
    total = counted.instret
    classes = table("class", "executed", "share", right=("executed", "share"))
    for name, executions in counted.by_unit.most_common():
        classes.add_row(name, f"{executions:,}", f"{100 * executions / total:.1f} %")
    classes.add_row("all", f"{total:,}", "")
    show(classes, stderr=True)
    if counted.vector:
        columns = ("executed", "vl", "vl/VLMAX")
        vector = table("vector instruction", *columns, right=columns)
        for name, use in counted.vector_by_executions():
            vl, share = use.average_vl, use.average_use
            vector.add_row(
                name,
                f"{use.executions:,}",
                "-" if vl is None else f"{vl:.1f}",
                "-" if share is None else f"{100 * share:.1f} %",
            )
        show(vector, stderr=True, apart=True)
    traffic = counted.traffic
    memory = table("memory bytes", "read", "written", right=("read", "written"))
    memory.add_row("scalar", f"{traffic.scalar_read:,}", f"{traffic.scalar_written:,}")
    memory.add_row("vector", f"{traffic.vector_read:,}", f"{traffic.vector_written:,}")
    show(memory, stderr=True, apart=True)
    if counted.not_compiled:
        slow = table("hot but not compiled", "executed", right=("executed",))
        for name, executions in counted.not_compiled.most_common():
            slow.add_row(name, f"{executions:,}")
        show(slow, stderr=True, apart=True)
