"""Ordered events of a run, one instruction at a time (DESIGN 3).

The events of one instruction have a fixed order: fetch, memory reads in element order, memory
writes, register writes, vtype change, retire or trap.  Each is a record of fixed size.  Contents of
vector registers do not fit; a consumer reads them from the state, as it is after the instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rvsim.engine.observer import Need, Observer
from rvsim.hart.state import F_BASE, SLOT, State
from rvsim.hart.traps import Trap
from rvsim.insn.base.csrs import CSRS
from rvsim.insn.decode import Decoded

Array = npt.NDArray[Any]


class EventKind(IntEnum):
    """The kind of an event, which gives its other fields their meaning."""

    FETCH = 0  # size: bytes of the instruction, addr: pc, value: the word
    READ = 1  # number: lane, size: bytes, addr, value
    WRITE = 2  # number: lane, size: bytes, addr, value
    X = 3  # number: register, value
    F = 4  # number: register, value
    V = 5  # number: register, size: bytes written, addr: the first of them in the register
    CSR = 6  # number: number, value
    VTYPE = 7  # number: number of vl or vtype, value
    RETIRE = 8  # addr: pc of the next instruction, value: instret
    TRAP = 9  # number: cause, addr: pc, value: tval


class Event(NamedTuple):
    """One record; `EventKind` says what the fields mean.  Other fields are 0."""

    kind: EventKind
    number: int = 0
    size: int = 0
    addr: int = 0
    value: int = 0


EVENT_DTYPE: Final = np.dtype(
    [("kind", "u2"), ("number", "u2"), ("size", "u4"), ("addr", "u8"), ("value", "u8")]
)
"""The record as a NumPy type: ``np.array(events, EVENT_DTYPE)``."""

Consumer = Callable[[Decoded | None, Sequence[Event]], object]
"""Receives an instruction and all its events; None if the instruction could not be fetched."""

_CSR_NUMBERS: Final = {csr.name: number for number, csr in CSRS.items() if csr.name in SLOT}
_VTYPE_NUMBERS: Final = {name: _CSR_NUMBERS.pop(name) for name in ("vl", "vtype")}


class Recorder(Observer):
    """Collects the events of one machine, and hands them to consumers for each instruction.

    >>> recorder = Recorder([lambda insn, events: print([e.kind.name for e in events])])
    >>> from rvsim.machine import Machine
    >>> machine = Machine(observers=[recorder])
    """

    needs = Need.INSTRUCTIONS | Need.ACCESSES | Need.TRAPS

    def __init__(self, consumers: Iterable[Consumer]) -> None:
        self.consumers = list(consumers)
        self._reads: list[Event] = []
        self._writes: list[Event] = []
        self._registers: list[Event] = []
        self._vtype: list[Event] = []

    # -- what the engine calls

    def accesses(self, names: Mapping[str, Any], state: State) -> dict[str, Any]:
        """The engine's memory accesses, made to log themselves, and its logs of registers."""
        self._words = state.words
        self._vlenb = state.vlenb
        return {
            **self._memory_accesses(names),
            "log_x": self._log_x,
            "log_f": self._log_f,
            "log_v": self._log_v,
            "log_csr": self._log_csr,
        }

    def _memory_accesses(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """The memory accesses among `names`, made to log themselves."""
        logged: dict[str, Any] = {}
        for size in (1, 2, 4, 8):
            logged[f"load{size}"] = self._load(names[f"load{size}"], size)
            logged[f"store{size}"] = self._store(names[f"store{size}"], size)
        logged["load_run"] = self._load_run(names["load_run"])
        logged["load_at"] = self._load_at(names["load_at"])
        logged["store_run"] = self._store_run(names["store_run"])
        logged["store_at"] = self._store_at(names["store_at"])
        return logged

    def retired(self, d: Decoded) -> None:
        """The instruction is done: hand all its events to the consumers."""
        words = self._words
        end = Event(EventKind.RETIRE, addr=words[SLOT["pc"]], value=words[SLOT["instret"]])
        self._hand_over(d, end)

    def trapped(self, d: Decoded | None, trap: Trap) -> None:
        """The instruction trapped; so does an ecall, before the system call is made."""
        self._hand_over(d, Event(EventKind.TRAP, trap.cause, addr=trap.pc, value=trap.tval))

    def _hand_over(self, d: Decoded | None, end: Event) -> None:
        fetch = [] if d is None else [Event(EventKind.FETCH, 0, d.length, d.pc, d.word)]
        events = [*fetch, *self._reads, *self._writes, *self._registers, *self._vtype, end]
        for pending in (self._reads, self._writes, self._registers, self._vtype):
            pending.clear()
        for consumer in self.consumers:
            consumer(d, events)

    # -- registers

    def _log_x(self, register: int) -> None:
        self._registers.append(Event(EventKind.X, register, 8, 0, self._words[register]))

    def _log_f(self, register: int) -> None:
        self._registers.append(Event(EventKind.F, register, 8, 0, self._words[F_BASE + register]))

    def _log_v(self, register: int, byte_offset: int, nbytes: int) -> None:
        vlenb = self._vlenb
        end = byte_offset + nbytes
        for start in range(byte_offset - byte_offset % vlenb, end, vlenb):
            first = max(start, byte_offset)
            size = min(end, start + vlenb) - first
            number = register + start // vlenb
            self._registers.append(Event(EventKind.V, number, size, first - start))

    def _log_csr(self, name: str) -> None:
        """Log a write to a CSR; other state, such as pc and reservations, is ignored."""
        value = self._words[SLOT[name]]
        if name in _VTYPE_NUMBERS:
            self._vtype.append(Event(EventKind.VTYPE, _VTYPE_NUMBERS[name], 8, 0, value))
        elif name in _CSR_NUMBERS:
            self._registers.append(Event(EventKind.CSR, _CSR_NUMBERS[name], 8, 0, value))

    # -- memory

    def _load(self, load: Callable[[int], int], size: int) -> Callable[[int], int]:
        def logged(addr: int) -> int:
            value = load(addr)
            self._reads.append(Event(EventKind.READ, 0, size, addr, value))
            return value

        return logged

    def _store(self, store: Callable[[int, int], None], size: int) -> Callable[[int, int], None]:
        def logged(addr: int, value: int) -> None:
            store(addr, value)
            self._writes.append(Event(EventKind.WRITE, 0, size, addr, value))

        return logged

    def _load_run(self, load_run: Callable[..., tuple[Array, int]]) -> Callable[..., Any]:
        def logged(addr: int, active: Array | None, n: int, dtype: Any) -> tuple[Array, int]:
            values, fault = load_run(addr, active, n, dtype)
            addrs = range(addr, addr + n * values.itemsize, values.itemsize)
            self._reads += _lanes(EventKind.READ, addrs, values, active, fault)
            return values, fault

        return logged

    def _load_at(self, load_at: Callable[..., tuple[Array, int]]) -> Callable[..., Any]:
        def logged(addrs: Array, active: Array | None, dtype: Any) -> tuple[Array, int]:
            values, fault = load_at(addrs, active, dtype)
            self._reads += _lanes(EventKind.READ, addrs.tolist(), values, active, fault)
            return values, fault

        return logged

    def _store_run(self, store_run: Callable[..., int]) -> Callable[..., int]:
        def logged(addr: int, values: Array, active: Array | None) -> int:
            fault = store_run(addr, values, active)
            addrs = range(addr, addr + len(values) * values.itemsize, values.itemsize)
            self._writes += _lanes(EventKind.WRITE, addrs, values, active, fault)
            return fault

        return logged

    def _store_at(self, store_at: Callable[..., int]) -> Callable[..., int]:
        def logged(addrs: Array, values: Array, active: Array | None) -> int:
            fault = store_at(addrs, values, active)
            self._writes += _lanes(EventKind.WRITE, addrs.tolist(), values, active, fault)
            return fault

        return logged


def _lanes(
    kind: EventKind, addrs: Sequence[int], values: Array, active: Array | None, fault: int
) -> list[Event]:
    """An event for each lane that was accessed: the active lanes before the one that faulted."""
    chosen: Iterable[int] = range(len(values)) if active is None else np.flatnonzero(active)
    size, numbers = values.itemsize, values.tolist()
    return [Event(kind, int(i), size, addrs[i], numbers[i]) for i in chosen if i < fault]
