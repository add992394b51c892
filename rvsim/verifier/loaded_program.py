"""A program on a machine of its own, run up to `main` and ready to have its functions called."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from rvsim.errors import RvsimError
from rvsim.guest.elf import Image
from rvsim.hart.initial import Initial
from rvsim.hart.memory import PAGE
from rvsim.hart.written_pages import WrittenPages
from rvsim.machine import Machine, RunResult
from rvsim.machine.environment import Environment
from rvsim.machine.options import RunOptions
from rvsim.machine.trap_report import recent_report, trap_report
from rvsim.verifier.area import ArgumentArea
from rvsim.verifier.call import Times
from rvsim.verifier.conditions import PLAIN_ENTRY, Entry
from rvsim.verifier.environment import Callback, CallEnvironment
from rvsim.verifier.errors import Busy, CallExited, CallLimit, CallTrapped
from rvsim.verifier.locations import SP, STACK_ALIGNMENT, Placement

MEMORY: Final = 256 << 20
"""Bytes of memory that a program has, unless it is asked for more."""

START_LIMIT: Final = 100_000_000
"""Instructions that a program may take to reach `main`."""

MOST_INSNS: Final = 1_000_000_000
"""Instructions that a call may take, unless it is asked for more."""

_RED_ZONE: Final = 256
"""Bytes between the frame of `main` and the call's."""

_RA, _GP, _TP = 1, 3, 4
_DEAD_STACK: Final = 1 << 12
"""Bytes below the stack pointer that are random where registers are."""

_MOST_STATES: Final = 64

Octets = npt.NDArray[np.uint8]
Moment = dict[int, bytes]
"""Content of the pages that were written, by their numbers."""

_ALL_CALLBACKS: Final = PAGE // 4


class LoadedProgram:
    """One program on one machine: its memory lives on from call to call."""

    def __init__(self, path: Path, options: RunOptions) -> None:
        self.path = path
        self.options = options
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.notes: list[str] = []
        self._caller: int | None = None
        self._load()

    def _load(self) -> None:
        self.machine = Machine(self.options, note=self.notes.append)
        self.machine.load(self.path, stdout=self.stdout.extend, stderr=self.stderr.extend)
        size = self.machine.memory.size // 4
        self.area = ArgumentArea(self.machine.memory, 2 * size, size)
        self._run_to_main()
        self._around: Environment = self.machine.environment
        self._environment = CallEnvironment(self._around, self.area.nowhere)
        self._written = WrittenPages(self.machine.memory)
        self._left = self.machine.memory.left
        self._has_called_linux = False
        self._base = self._entry_state()
        self._states: dict[Entry, Octets] = {}
        self.instret = self.machine.state["instret"]
        """Instructions that had been executed before each call."""
        cost = self.machine.cost
        self._cycle, self._stalls = (0, {}) if cost is None else (cost.cycle, dict(cost.stalls))

    @property
    def image(self) -> Image:
        """The program's file."""
        assert self.machine.image is not None
        return self.machine.image

    def _run_to_main(self) -> None:
        main = self.image.symbols.address("main")
        if main is None:
            return
        result = self.machine.run(max_insns=START_LIMIT, until=[main])
        self.machine.interp.stop_at(())
        if result.reason != "stop":
            raise RvsimError(
                f"{self.path} did not reach main: {self._why(result)}",
                hint="its start-up code has to work here: try rvsim run",
            )

    def _entry_state(self) -> Octets:
        """All state as it is when a function is entered, but for the arguments."""
        state = self.machine.state
        kept = {number: state.x[number] for number in (SP, _GP, _TP)}
        Initial.parse(self.options.initial).fill(state)
        for number, value in kept.items():
            state.x[number] = value
        gp = self.image.symbols.address("__global_pointer$")
        if gp is not None:
            state.x[_GP] = gp
        self._top = kept[SP] - _RED_ZONE & -STACK_ALIGNMENT
        state.x[SP] = self._top
        state.x[_RA] = self.area.nowhere
        return state.buffer.copy()

    @property
    def _is_beyond_pages(self) -> bool:
        """Whether a system call, or memory that was promised, has changed more than pages."""
        grown = self.machine.memory.left + self.area.held != self._left
        return self._has_called_linux or grown

    # -- a call

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """One call at a time; `Busy` for another one."""
        if self._caller is not None:
            mine = self._caller == threading.get_ident()
            raise Busy(
                "a callback calls the program that called it"
                if mine
                else "two threads call one program",
                hint="open the program once more for that: it has a memory of its own then",
            )
        self._caller = threading.get_ident()
        try:
            yield
        finally:
            self._caller = None

    def refresh(self) -> None:
        """Put memory back to what it was when the program had been loaded."""
        if self._is_beyond_pages:
            self._load()
        else:
            self._written.restore()

    @property
    def top(self) -> int:
        """Where the stack of a call begins, and grows down from."""
        return self._top

    def moment(self) -> Moment | None:
        """What memory holds now, for `go_to`; None if a system call has changed more than that."""
        return None if self._is_beyond_pages else self._written.now()

    def go_to(self, moment: Moment) -> None:
        """Have memory hold what it held at a moment of another machine with the same program."""
        self._written.put(moment)

    def times(self) -> Times:
        """What the last call took; its machine counts cycles."""
        cost = self.machine.cost
        assert cost is not None
        stalls = {r: n - self._stalls.get(r, 0) for r, n in cost.stalls.items()}
        return Times(cost.cycle - self._cycle, {r: n for r, n in stalls.items() if n})

    def run(
        self,
        function: int,
        placement: Placement,
        callbacks: Sequence[Callback] = (),
        max_insns: int = MOST_INSNS,
        entry: Entry = PLAIN_ENTRY,
    ) -> RunResult:
        """Call the function at an address.

        Raises `CallTrapped`, `CallLimit` or `CallExited` if it does not return.
        """
        machine, state, environment = self.machine, self.machine.state, self._environment
        np.copyto(state.buffer, self._state_at(entry))
        self.put(placement)
        state["pc"] = function
        first = self.callback_address(0)
        environment.callbacks = {first + 4 * n: each for n, each in enumerate(callbacks)}
        machine.enter(environment)
        try:
            result = machine.run(max_insns=max_insns)
        finally:
            self._has_called_linux |= environment.system_calls > 0
        if not environment.has_returned:
            raise self._failure(result)
        return result

    def _state_at(self, entry: Entry) -> Octets:
        """All state at an entry; and the dead stack is written for it."""
        if entry.seed is not None:
            self.machine.memory.write(self._top - _DEAD_STACK, entry.stack(_DEAD_STACK))
        if entry not in self._states:
            if len(self._states) >= _MOST_STATES:
                self._states.clear()
            state = self.machine.state
            np.copyto(state.buffer, self._base)
            entry.fill(state, self.machine.config.elen)
            self._states[entry] = state.buffer.copy()
        return self._states[entry]

    def put(self, placement: Placement) -> None:
        """Put arguments, or the result of a callback, into registers and memory."""
        state = self.machine.state
        for number, value in placement.x.items():
            state.x[number] = value
        for number, value in placement.f.items():
            state.f[number] = value
        for number, content in placement.v.items():
            state.v[number, : len(content)] = np.frombuffer(content, np.uint8)
        for address, content in placement.memory:
            self.machine.memory.write(address, content)

    def callback_address(self, number: int) -> int:
        """Where the guest finds a callback of the next `run`, counted from 0."""
        if number >= _ALL_CALLBACKS:
            raise RvsimError(f"a call has at most {_ALL_CALLBACKS} callbacks")
        return self.area.nowhere + 4 + 4 * number

    def _failure(self, result: RunResult) -> CallTrapped | CallLimit | CallExited:
        machine = self.machine
        if result.trap is not None:
            report = f"{trap_report(machine, result.trap)}\n{recent_report(machine)}"
            return CallTrapped(report.rstrip(), result.trap)
        why = self._why(result)
        if result.reason == "exit":
            return CallExited(f"the program ended in the call: {why}", result.exit_code)
        return CallLimit(why, hint="a loop? max_insns= allows more")

    def _why(self, result: RunResult) -> str:
        machine = self.machine
        if result.trap is not None:
            return trap_report(machine, result.trap)
        place = machine.place(machine.state["pc"])
        if result.reason == "exit":
            return f"exit code {result.exit_code} at {place}"
        return f"{result.instret:,} instructions without an end, the last at {place}"
