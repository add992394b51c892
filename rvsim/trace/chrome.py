"""``chrome:FILE``: Trace Event JSON for Perfetto and chrome://tracing; a cycle is a microsecond.

The file has a track for each issue slot, for each unit and for the waits, and counters of vl and of
instructions per cycle.  Instructions overlap in a unit, but slices of a track may not.  So a slice
ends where the unit begins with the next instruction; its arguments have the whole time.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.cost import REASONS
from rvsim.cost.batch import Batch, PerInstruction
from rvsim.cost.formula import CYCLE
from rvsim.insn.decode import Decoded
from rvsim.insn.disasm import disassemble
from rvsim.insn.units import Unit
from rvsim.machine import Machine
from rvsim.trace import text_columns as text
from rvsim.trace.files import TraceFile
from rvsim.trace.text_columns import Column, Lines, Places, columns, only

_Rows = npt.NDArray[Any]
_Times = npt.NDArray[np.int64]

_VECTOR, _LSU, _MUL, _FP, _WAITS, _SLOTS = 1, 2, 3, 4, 5, 10
_TRACKS: Final = {
    _VECTOR: "vector unit",
    _LSU: "load/store unit",
    _MUL: "multiplier",
    _FP: "floating-point unit",
    _WAITS: "waits",
}
_SCALAR_UNITS: Final = {"": 0, "mul": _MUL, "fp": _FP}
"""Tracks of the scalar units that a core's classes name; other instructions have issue slots."""
IPC_CYCLES: Final = 100
"""The cycles over which instructions per cycle are averaged."""

_EVENT: Final = ',\n{"pid":1,"ph":'
_NAMES: Final = np.array([reason.encode() for reason in REASONS])


class ChromeTrace:
    """Writes one event a line; the events of a track are in order of time."""

    def __init__(self, path: str, machine: Machine) -> None:
        assert machine.cost is not None
        text.keep_memory()
        self._file = TraceFile(path)
        self._file.begin(
            b'{"displayTimeUnit":"ns","traceEvents":[\n'
            b'{"ph":"M","name":"process_name","pid":1,"args":{"name":"hart 0"}}'
        )
        self._opening = PerInstruction(_opening)
        self._pc = PerInstruction(lambda d: f"{d.pc:#x}".encode())
        self._core = machine.cost.core
        self._unit = PerInstruction(self._track)
        self._named: set[int] = set()
        self._in_unit: dict[int, Batch] = {}
        self._begun = {_LSU: 0, _VECTOR: 0, _MUL: 0, _FP: 0}
        self._issue, self._slot, self._slots = -1, 0, 0
        self._vl = -1
        self._ipc_since: int | None = None
        self._ipc_count = 0

    def batch(self, batch: Batch) -> None:
        for piece in text.pieces(batch):
            self._piece(piece)

    def close(self) -> None:
        for track in self._begun:
            batch = self._in_unit.get(track)
            if batch is not None:
                start = np.array([self._begun[track]])
                last = _slices(track, start, batch.rows["done"], self._bodies(batch))
                lines = [*self._name(track, 0), (np.zeros(1, np.intp), last)]
                self._file.write(text.joined_by_row(1, lines))
        self._file.close(b"\n]}\n")

    def _piece(self, batch: Batch) -> None:
        """Write the events of a batch; instructions still in a unit are put before its rows."""
        before = [of_unit.rows for of_unit in self._in_unit.values()]
        both = Batch(np.concatenate([*before, batch.rows]), batch.code)
        bodies, units = self._bodies(both), self._unit(both)
        lines = self._counters(batch.rows) + self._waits(batch)
        lines += self._issue_slots(batch.rows["issue"], bodies[len(before) :])
        for track in self._begun:
            entering = np.flatnonzero(units == track)
            if len(entering):
                lines += self._enter(track, both, entering, bodies, len(before))
        self._file.write(text.joined_by_row(len(batch.rows), lines))

    def _track(self, d: Decoded) -> int:
        """The track of an instruction's unit; 0 if it has none."""
        unit = d.insn.unit if d.insn is not None else Unit.ALU
        if unit.is_memory:
            return _LSU
        if unit.is_vector and unit is not Unit.VSET:
            return _VECTOR
        known = self._core.scalar.get(unit)
        return 0 if known is None else _SCALAR_UNITS[known.base.unit]

    # -- counters

    def _counters(self, rows: _Rows) -> list[Lines]:
        issue, vl = rows["issue"], rows["vl"].astype(np.int64)
        changes = np.flatnonzero(np.diff(vl, prepend=self._vl))
        self._vl = vl[-1]
        ends, begins, values = self._ipc(issue.tolist())
        return [
            (changes, _counter("vl", issue[changes], text.decimal(vl[changes]))),
            (ends, _counter("IPC", begins, values)),
        ]

    def _ipc(self, issue: list[int]) -> tuple[Places, _Times, Column]:
        """The rows at which intervals end, when the intervals began, and instructions per cycle."""
        found: list[tuple[int, int, bytes]] = []
        since = issue[0] if self._ipc_since is None else self._ipc_since
        first = 0
        while (end := bisect_left(issue, since + IPC_CYCLES * CYCLE, first)) < len(issue):
            count = self._ipc_count + end - first
            found.append((end, since, b"%g" % (count * CYCLE / (issue[end] - since))))
            since, first, self._ipc_count = issue[end], end, 0
        self._ipc_since = since
        self._ipc_count += len(issue) - first
        ends, begins, values = zip(*found, strict=True) if found else ((), (), ())
        return np.array(ends, np.intp), np.array(begins, np.int64), np.array(values, "S16")

    # -- slices

    def _waits(self, batch: Batch) -> list[Lines]:
        rows, pc = batch.rows, self._pc(batch)
        issue, fetch, wait, lost = (rows[name] for name in ("issue", "fetch", "wait", "lost"))
        reason, lost_reason = _NAMES.take(rows["reason"]), _NAMES.take(rows["lost_reason"])
        lines = [
            _wait(issue - rows["slot"] - wait, fetch, b"fetch", pc),
            _wait(issue, wait, reason, pc),
            _wait(issue + lost, lost, lost_reason, pc),
        ]
        first = min((int(rows[0]) for rows, _ in lines if len(rows)), default=None)
        return [] if first is None else [*self._name(_WAITS, first), *lines]

    def _issue_slots(self, issue: _Times, bodies: Column) -> list[Lines]:
        begins = np.diff(issue, prepend=self._issue) != 0
        numbers = np.arange(len(issue))
        slots = numbers - np.maximum.accumulate(np.where(begins, numbers, -1 - self._slot))
        self._issue, self._slot = issue[-1], slots[-1]
        lines = []
        while len(found := np.flatnonzero(slots == self._slots)):
            lines += self._name(_SLOTS + self._slots, int(found[0]))
            self._slots += 1
        return [*lines, (numbers, _slices(_SLOTS + slots, issue, issue + CYCLE, bodies))]

    def _enter(
        self, track: int, both: Batch, entering: Places, bodies: Column, before: int
    ) -> list[Lines]:
        """Let instructions enter a unit; the slice of the one before each ends at its start."""
        rows, leaving, behind = both.rows, entering[:-1], entering[1:] - before
        starts = np.maximum.accumulate(rows["start"][entering])
        starts = np.maximum(starts, self._begun[track])
        ends = np.minimum(rows["done"][leaving], starts[1:])
        self._in_unit[track] = Batch(rows[entering[-1:]], both.code)
        self._begun[track] = starts[-1]
        slices = behind, _slices(track, starts[:-1], ends, bodies[leaving])
        return [*self._name(track, int(behind[0])), slices] if len(behind) else []

    def _name(self, track: int, row: int) -> list[Lines]:
        """The line that names a track, before its first slice."""
        if track in self._named:
            return []
        self._named.add(track)
        name = _TRACKS.get(track, f"issue slot {track - _SLOTS}")
        line = f'{_EVENT}"M","name":"thread_name","tid":{track},"args":{{"name":"{name}"}}}}'
        return [(np.array([row]), np.array([line.encode()]))]

    def _bodies(self, batch: Batch) -> Column:
        """Names and arguments of slices, to the end of the line."""
        rows = batch.rows
        at = rows["size"] > 0
        address = columns(b',"address":"0x', text.hexadecimal(rows["addr"][at]), b'"')
        return columns(
            *(self._opening(batch), text.decimal(rows["instret"])),
            *(b',"vl":', text.decimal(rows["vl"]), only(at, address)),
            *(b',"issue":', text.cycles(rows["issue"], b".0")),
            *(b',"start":', text.cycles(rows["start"], b".0")),
            *(b',"done":', text.cycles(rows["done"], b".0")),
            *_charges(rows),
            b"}}",
        )


# -- texts


def _opening(d: Decoded) -> bytes:
    name = json.dumps(disassemble(d))
    return f',"name":{name},"args":{{"pc":"{d.pc:#x}","instret":'.encode()


def _wait(ends: _Times, lengths: _Times, name: bytes | Column, pc: Column) -> Lines:
    chosen = np.flatnonzero(lengths)
    ends, starts = ends[chosen], (ends - lengths)[chosen]
    body = columns(
        *(b',"name":"', text.some(name, chosen), b'","args":{"pc":"', pc[chosen], b'"}}')
    )
    return chosen, _slices(_WAITS, starts, ends, body)


def _slices(track: int | Places, starts: _Times, ends: _Times, bodies: Column) -> Column:
    """Lines of slices; a slice that ends before it starts takes no time."""
    tid = b"%d" % track if isinstance(track, int) else text.decimal(track)
    start, length = text.cycles(starts), text.cycles(np.maximum(ends - starts, 0))
    opening = f'{_EVENT}"X","tid":'.encode()
    return columns(opening, tid, b',"ts":', start, b',"dur":', length, bodies)


def _counter(name: str, times: _Times, values: Column) -> Column:
    opening, args = f'{_EVENT}"C","name":"{name}","ts":', f',"args":{{"{name}":'
    return columns(opening.encode(), text.cycles(times), args.encode(), values, b"}}")


def _charges(rows: _Rows) -> list[Column]:
    """Charges by reason; the wait before a CSR access and the loss after it may have one reason."""
    wait, lost, same = rows["wait"], rows["lost"], rows["reason"] == rows["lost_reason"]
    parts: list[Column] = []
    some = np.zeros(len(rows), bool)
    for times, name in (
        (rows["fetch"], b"fetch"),
        (rows["slot"], b"issue"),
        (np.where(same, wait + lost, wait), _NAMES.take(rows["reason"])),
        (np.where(same, 0, lost), _NAMES.take(rows["lost_reason"])),
    ):
        charged = times > 0
        comma = np.where(some, b',"', b'"')[charged]
        shown = columns(comma, text.some(name, charged), b'":', text.cycles(times[charged], b".0"))
        parts.append(only(charged, shown))
        some |= charged
    return [np.where(some, b',"cycles":{', b""), *parts, np.where(some, b"}", b"")]
