"""Find the first instruction that the JIT and the reference engine execute differently.

`Watched` is a JIT that has the reference engine repeat every stretch of native code from the same
state; where the two end differently it raises `Diverged`.  `locate` then narrows the stretch down:
to the least fuel that shows the difference, and to one instruction by compiling few at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.discover import RegionPlan, discover
from rvsim.engine.jit.engine import Jit
from rvsim.engine.jit.native import FuelSlice, Native
from rvsim.engine.jit.when_to_compile import THRESHOLD
from rvsim.hart.memory import PAGE, Memory, R, W, X
from rvsim.hart.state import F_BASE, SCALARS, SLOT, X_BASE, State
from rvsim.hart.traps import Trap
from rvsim.insn.decode import Decoded
from rvsim.insn.disasm import F_NAMES, X_NAMES
from rvsim.vec.vtype import VType

_INTERNAL: Final = frozenset({"fuel", "cycle"})
"""Words that engines may use as they like; a program that asks for `cycle` sees instret."""

FUEL_AT_ONCE: Final = 20_000_000
"""Instructions between two looks at native code, at most."""

_BYTES_SHOWN: Final = 8

NOT_AGAIN: Final = "it went right when it was repeated"

Run = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State and mapped memory of a hart at some moment."""

    state: bytes
    perm: npt.NDArray[np.uint8]
    pages: npt.NDArray[np.intp]
    content: npt.NDArray[np.uint8]

    @staticmethod
    def of(interp: Interpreter) -> Snapshot:
        memory = interp.memory
        pages = memory.held_pages()
        return Snapshot(
            interp.state.snapshot(),
            memory.perm[pages],
            pages,
            memory.data.reshape(-1, PAGE)[pages],
        )

    def restore(self, interp: Interpreter) -> None:
        """Put a hart of the same configuration where this one was."""
        interp.state.buffer[:] = memoryview(self.state)
        memory = interp.memory
        for page in np.setdiff1d(memory.held_pages(), self.pages).tolist():
            memory.unmap(page * PAGE, PAGE)
        different = memory.perm[self.pages] != self.perm
        for page, perm in zip(self.pages[different], self.perm[different], strict=True):
            memory.map(int(page) * PAGE, PAGE, int(perm) & (R | W | X))
        now = memory.data.reshape(-1, PAGE)[self.pages]
        for row in np.flatnonzero((now != self.content).any(axis=1)).tolist():
            memory.write(int(self.pages[row]) * PAGE, self.content[row].tobytes())

    def __getitem__(self, name: str) -> int:
        """A named word of the state."""
        at = 8 * SLOT[name]
        return int.from_bytes(self.state[at : at + 8], "little")


def twin(interp: Interpreter) -> Interpreter:
    """A hart of the same configuration on memory of its own, run by the reference engine."""
    memory = interp.memory
    return Interpreter(
        interp.config, State(interp.config.vlen), Memory(memory.limit, space=memory.size)
    )


# -- comparison


def differences(expected: Interpreter, got: Interpreter) -> list[str]:
    """Where two harts differ, in words: registers by lane, then memory; empty if nowhere."""
    return [*_state_differences(expected.state, got.state), *memory_differences(expected, got)]


def _state_differences(expected: State, got: State) -> Iterator[str]:
    names = {X_BASE + n: name for n, name in enumerate(X_NAMES)}
    names |= {F_BASE + n: name for n, name in enumerate(F_NAMES)}
    names |= {SLOT[name]: name for name in SCALARS if name not in _INTERNAL}
    for slot, name in names.items():
        want, have = expected.words[slot], got.words[slot]
        if want != have:
            yield f"{name}: numpy {want:#x}, jit {have:#x}"
    vtype = VType.decode(expected["vtype"])
    lanes = f"u{1 if vtype is None else vtype.sew // 8}"
    for number, (want_row, have_row) in enumerate(zip(expected.v, got.v, strict=True)):
        a, b = want_row.view(lanes), have_row.view(lanes)
        for lane in np.flatnonzero(a != b).tolist():
            yield f"v{number}[{lane}]: numpy {int(a[lane]):#x}, jit {int(b[lane]):#x}"


def memory_differences(expected: Interpreter, got: Interpreter) -> list[str]:
    """The first bytes of memory that differ, or the first page that isn't mapped the same."""
    one, other = expected.memory, got.memory
    pages = np.union1d(one.held_pages(), other.held_pages())
    different = pages[one.perm[pages] != other.perm[pages]]
    if different.size:
        page = int(different[0])
        perms = f"numpy {int(one.perm[page]):#x}, jit {int(other.perm[page]):#x}"
        return [f"permission of page {page * PAGE:#x}: {perms}"]
    mapped = one.held_pages()
    a, b = one.data.reshape(-1, PAGE)[mapped], other.data.reshape(-1, PAGE)[mapped]
    rows, columns = np.nonzero(a != b)
    return [
        f"memory {int(mapped[row]) * PAGE + column:#x}: numpy {a[row, column]:#04x},"
        f" jit {b[row, column]:#04x}"
        for row, column in list(zip(rows.tolist(), columns.tolist(), strict=True))[:_BYTES_SHOWN]
    ]


# -- watching


@dataclass(frozen=True, slots=True)
class Stretch:
    """One call of native code that went wrong: from where, and with which fuel."""

    before: Snapshot
    run: Run
    fuel: int


class Diverged(Exception):
    """Native code has left another state than the reference engine would have."""

    def __init__(self, stretch: Stretch) -> None:
        super().__init__(stretch)
        self.stretch = stretch


class _Fixed(FuelSlice):
    """Calls can be repeated with less fuel than they had: how much that is must not change."""

    def took(self, used: int, seconds: float) -> None:
        pass


class Watched(Jit):
    """A JIT whose native code is checked against the reference engine, while `watching`."""

    def __init__(
        self, interp: Interpreter, threshold: int = THRESHOLD, *, watching: bool = True
    ) -> None:
        super().__init__(interp, threshold, fuel=_Fixed(FUEL_AT_ONCE))
        self.watching = watching
        self.checker = Checker(interp)

    def compile(self, plan: RegionPlan) -> Native:
        native = super().compile(plan)
        return replace(native, run=self._checked(native.run))

    def _checked(self, run: Run) -> Run:
        def checked(fuel: int) -> int:
            if not self.watching:
                return run(fuel)
            before = Snapshot.of(self.interp)
            used = run(fuel)
            if self.checker.differences(before, used):
                raise Diverged(Stretch(before, run, fuel))
            return used

        return checked


class Checker:
    """Repeats on the reference engine what native code has done to `interp`."""

    def __init__(self, interp: Interpreter) -> None:
        self.interp = interp
        self.reference = twin(interp)

    def differences(self, before: Snapshot, used: int) -> list[str]:
        """What is different after `used` instructions; the interpreter counts instret itself."""
        trap = self.repeat(before, used)
        if trap is not None:
            return [f"trap: numpy {trap.why} at {trap.pc:#x}, jit none"]
        state = self.interp.state
        state["instret"] += used
        found = differences(self.reference, self.interp)
        if found == memory_differences(self.reference, self.interp) and self._stored_early():
            found = []
        state["instret"] -= used
        return found

    def repeat(self, before: Snapshot, count: int) -> Trap | None:
        before.restore(self.reference)
        return self.reference.run(count)[0]

    def _stored_early(self) -> bool:
        """Whether the next instruction makes up for what differs in memory.

        Native code may leave in the middle of a vector store, which is then executed again.
        """
        after, expected = Snapshot.of(self.interp), Snapshot.of(self.reference)
        other = twin(self.interp)
        after.restore(other)
        other.run(1)
        self.reference.run(1)
        equal = not differences(self.reference, other)
        expected.restore(self.reference)
        return equal


# -- narrowing down


@dataclass(frozen=True, slots=True)
class Divergence:
    """What went wrong: instruction number `last`, if `first` is the same, else one of a few.

    Numbers count from 1, as ``--max-insns``, and native code shows it with fuel for `shown`.
    `before` is the state that the last one meets; `alone` tells that it goes wrong also as a region
    of its own.
    """

    first: int
    last: int
    shown: int
    alone: bool
    insn: Decoded
    mode: Mode
    before: Snapshot
    differences: tuple[str, ...]


def locate(jit: Watched, stretch: Stretch) -> Divergence:
    """The instruction that makes a stretch of native code go wrong."""
    return _Search(jit, stretch).narrowed()


class _Search:
    def __init__(self, jit: Watched, stretch: Stretch) -> None:
        jit.watching = False
        self.jit = jit
        self.interp = jit.interp
        self.checker = jit.checker
        self.stretch = stretch
        self.fuel = stretch.fuel
        self._compiled: dict[tuple[int, Mode, int], Native | None] = {}

    def narrowed(self) -> Divergence:
        fuel = self.fuel = self._least_fuel()
        good, _ = self._try(self.stretch.run, self.stretch.before, fuel - 1)
        self.checker.repeat(self.stretch.before, good)
        start = Snapshot.of(self.checker.reference)
        used, found = self._try(self.stretch.run, self.stretch.before, fuel)
        return (
            self._alone(start, used - good)
            or self._together(start, used - good)
            or self._report(start, 1, max(1, used - good), found or [NOT_AGAIN], alone=False)
        )

    def _least_fuel(self) -> int:
        """The least fuel that shows a difference: less of it stops native code earlier."""
        good, bad = 0, min(self.stretch.fuel, FUEL_AT_ONCE)
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._try(self.stretch.run, self.stretch.before, middle)[1]:
                bad = middle
            else:
                good = middle
        return max(1, bad)

    def _try(self, run: Run, before: Snapshot, fuel: int) -> tuple[int, list[str]]:
        """Instructions that native code executes from a state, and what differs then."""
        before.restore(self.interp)
        used = run(fuel) if fuel else 0
        return used, self.checker.differences(before, used)

    def _region(self, at: Snapshot, limit: int) -> Run | None:
        """Native code of at most `limit` instructions for a state, if there can be any."""
        at.restore(self.interp)
        pc, mode = self.interp.state["pc"], Mode.of(self.interp.state)
        key = pc, mode, limit
        if key not in self._compiled:
            plan = discover(self.interp, pc, mode, limit)
            self._compiled[key] = Jit.compile(self.jit, plan) if plan.blocks else None
        native = self._compiled[key]
        return None if native is None else native.run

    def _alone(self, start: Snapshot, count: int) -> Divergence | None:
        """The first of the instructions that goes wrong in a region of its own."""
        before = start
        for number in range(1, count + 1):
            run = self._region(before, 1)
            if run is not None:
                found = self._try(run, before, 1)[1]
                if found:
                    return self._report(start, number, number, found, alone=True)
            if self.checker.repeat(before, 1) is not None:
                break
            before = Snapshot.of(self.checker.reference)
        return None

    def _together(self, start: Snapshot, count: int) -> Divergence | None:
        """The last instruction of the shortest region from the start on that goes wrong."""
        for limit in range(2, count + 1):
            run = self._region(start, limit)
            if run is not None:
                used, found = self._try(run, start, limit)
                if found:
                    return self._report(start, used, used, found, alone=False)
        return None

    def _report(
        self, start: Snapshot, first: int, last: int, found: list[str], *, alone: bool
    ) -> Divergence:
        self.checker.repeat(start, last - 1)
        reference = self.checker.reference
        return Divergence(
            start["instret"] + first,
            start["instret"] + last,
            self.stretch.before["instret"] + self.fuel,
            alone,
            reference.decode_at(reference.state["pc"]),
            Mode.of(reference.state),
            Snapshot.of(reference),
            tuple(found),
        )
