"""``chrome:FILE``: Trace Event JSON for Perfetto and chrome://tracing; a cycle is a microsecond.

A track for each issue slot, for the vector unit and the load/store unit, and one of the waits, and
counters of vl and of instructions per cycle.  Instructions overlap in a unit, slices of a track may
not: a slice ends where the unit begins with the next instruction, and has the whole time beside it.
"""

from __future__ import annotations

import json
from typing import Final

from rvsim.cost.batch import Batch
from rvsim.cost.rows import Row, each_row
from rvsim.decode import Decoded
from rvsim.insn.units import Unit
from rvsim.machine import Machine
from rvsim.trace.files import TraceFile
from rvsim.trace.texts import Texts

_VECTOR, _LSU, _WAITS, _SLOTS = 1, 2, 3, 10
_TRACKS: Final = {_VECTOR: "vector unit", _LSU: "load/store unit", _WAITS: "waits"}
_MEMORY: Final = frozenset(
    unit for unit in Unit if unit.value.startswith(("load", "store", "fload", "fstore", "amo",
    "vload", "vstore"))
)  # fmt: skip
IPC_CYCLES: Final = 100
"""Instructions per cycle are averages over so many."""


class ChromeTrace:
    """Writes an event a line; those of one track are in the order of time."""

    def __init__(self, path: str, machine: Machine) -> None:
        self._file = TraceFile(path)
        self._file.write(
            b'{"displayTimeUnit":"ns","traceEvents":[\n'
            b'{"ph":"M","name":"process_name","pid":1,"args":{"name":"hart 0"}}'
        )
        self._named: set[int] = set()
        self._in_unit: dict[int, tuple[float, float, str, str]] = {}
        self._texts = Texts(json.dumps)
        self._issue = -1.0
        self._slot = 0
        self._vl = -1
        self._ipc_from: float | None = None
        self._ipc_count = 0

    def batch(self, batch: Batch) -> None:
        for d, row in each_row(batch):
            self.row(d, row)

    def row(self, d: Decoded, row: Row) -> None:
        assert d.insn is not None or row.trapped
        self._slot = self._slot + 1 if row.issue == self._issue else 0
        self._issue = row.issue
        name, args = self._texts.of(d), _arguments(row)
        self._counters(row)
        self._waits(row)
        self._slice(_SLOTS + self._slot, row.issue, row.issue + 1, name, args)
        unit = d.insn.unit if d.insn is not None else Unit.ALU
        if unit in _MEMORY:
            self._enter(_LSU, row, name, args)
        elif unit.is_vector and unit is not Unit.VSET:
            self._enter(_VECTOR, row, name, args)

    def close(self) -> None:
        for track, (start, done, name, args) in self._in_unit.items():
            self._slice(track, start, done, name, args)
        self._file.close(b"\n]}\n")

    # -- events

    def _enter(self, track: int, row: Row, name: str, args: str) -> None:
        """Begin with an instruction, and show the one before it as far as it got."""
        before = self._in_unit.get(track)
        start = row.start
        if before is not None:
            start = max(start, before[0])
            self._slice(track, before[0], min(before[1], start), *before[2:])
        self._in_unit[track] = start, row.done, name, args

    def _waits(self, row: Row) -> None:
        ends = (row.before + row.fetch, row.issue, row.issue + row.lost)
        lengths = (row.fetch, row.wait, row.lost)
        names = ("fetch", row.reason.decode(), row.lost_reason.decode())
        for end, length, name in zip(ends, lengths, names, strict=True):
            if length:
                self._slice(_WAITS, end - length, end, json.dumps(name), f'{{"pc":"{row.pc:#x}"}}')

    def _slice(self, track: int, start: float, end: float, name: str, args: str) -> None:
        if track not in self._named:
            self._named.add(track)
            title = _TRACKS.get(track, f"issue slot {track - _SLOTS}")
            self._write(f'"M","name":"thread_name","tid":{track},"args":{{"name":"{title}"}}')
        self._write(
            f'"X","tid":{track},"ts":{_number(start)},"dur":{_number(end - start)}'
            f',"name":{name},"args":{args}'
        )

    def _counters(self, row: Row) -> None:
        if row.vl != self._vl:
            self._vl = row.vl
            self._counter("vl", row.issue, row.vl)
        if self._ipc_from is None:
            self._ipc_from = row.issue
        passed = row.issue - self._ipc_from
        if passed >= IPC_CYCLES:
            self._counter("IPC", self._ipc_from, self._ipc_count / passed)
            self._ipc_from, self._ipc_count = row.issue, 0
        self._ipc_count += 1

    def _counter(self, name: str, at: float, value: float) -> None:
        self._write(f'"C","name":"{name}","ts":{_number(at)},"args":{{"{name}":{value:g}}}')

    def _write(self, fields: str) -> None:
        self._file.write(f',\n{{"pid":1,"ph":{fields}}}'.encode())


def _arguments(row: Row) -> str:
    shown: dict[str, object] = {"pc": hex(row.pc), "instret": row.instret, "vl": row.vl}
    if row.size:
        shown["address"] = hex(row.addr)
    shown |= {"issue": row.issue, "start": row.start, "done": row.done}
    charges = {reason: cycles for _, reason, cycles in row.charges()}
    if charges:
        shown["cycles"] = charges
    return json.dumps(shown, separators=(",", ":"))


def _number(cycles: float) -> str:
    return f"{cycles:.10g}" if cycles != int(cycles) else str(int(cycles))
