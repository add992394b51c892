"""``kanata:FILE``: a log for the pipeline viewer Konata, in the Kanata format version 4.

Lane 0 of an instruction shows where it is: ``W`` waits for its turn to issue, ``Is`` issues, ``Q``
is queued for its unit, ``X`` executes.  Lane 1 shows why nothing moves, by the model's reasons.
The log goes forward in time only, so what ends later is kept until then.  Retirement numbers are
in the order of the program, which is that of Konata's rows.
"""

from __future__ import annotations

import heapq
from math import ceil, floor

from rvsim.cost.batch import Batch
from rvsim.cost.rows import Row, each_row
from rvsim.decode import Decoded
from rvsim.machine import Machine
from rvsim.trace.files import TraceFile
from rvsim.trace.texts import Texts

_Event = tuple[int, int, str]
"""Cycle, order and line."""


class KanataTrace:
    """Writes each cycle's events when no earlier ones can come."""

    def __init__(self, path: str, machine: Machine) -> None:
        self._file = TraceFile(path)
        self._file.write(b"Kanata\t0004\n")
        self._events: list[_Event] = []
        self._order = 0
        self._texts = Texts()
        self._instructions = 0
        self._cycle: int | None = None

    def batch(self, batch: Batch) -> None:
        for d, row in each_row(batch):
            self.row(d, row)

    def row(self, d: Decoded, row: Row) -> None:
        begin = floor(row.before)
        self._write_until(begin)
        self._add(d, row, begin)

    def close(self) -> None:
        while self._events:
            self._write_until(self._events[0][0])
        self._file.close()

    def _add(self, d: Decoded, row: Row, begin: int) -> None:
        number, issue = self._instructions, int(row.issue)
        self._instructions += 1
        self._event(begin, f"I\t{number}\t{row.instret}\t0")
        self._event(begin, f"L\t{number}\t0\t{row.pc:x}: {self._texts.of(d)}")
        self._event(begin, f"L\t{number}\t1\t{_details(row)}")
        if issue > begin:
            self._event(begin, f"S\t{number}\t0\tW")
        stalls = _stalls(row, begin, issue)
        for start, end, reason in stalls:
            self._event(start, f"S\t{number}\t1\t{reason}")
            self._event(end, f"E\t{number}\t1\t{reason}")
        self._event(issue, f"S\t{number}\t0\tIs")
        executes = max(floor(row.start), issue + 1)
        done = max(ceil(row.done), issue + 1)
        if executes > issue + 1:
            self._event(issue + 1, f"S\t{number}\t0\tQ")
        if done > executes:
            self._event(executes, f"S\t{number}\t0\tX")
        self._event(done, f"E\t{number}\t0\t{'X' if done > executes else 'Is'}")
        last = max(done, *(end for _, end, _ in stalls), issue)
        self._event(last, f"R\t{number}\t{number}\t0")

    def _event(self, cycle: int, line: str) -> None:
        heapq.heappush(self._events, (cycle, self._order, line))
        self._order += 1

    def _write_until(self, cycle: int) -> None:
        """All events up to and with this cycle."""
        lines = []
        while self._events and self._events[0][0] <= cycle:
            at, _, line = heapq.heappop(self._events)
            if self._cycle is None:
                lines.append(f"C=\t{at}\n")
            elif at > self._cycle:
                lines.append(f"C\t{at - self._cycle}\n")
            self._cycle = at
            lines.append(line + "\n")
        if lines:
            self._file.write("".join(lines).encode())


def _stalls(row: Row, begin: int, issue: int) -> list[tuple[int, int, str]]:
    """(from, to, reason) of the cycles in which it held up issue."""
    found = []
    if row.fetch:
        found.append((begin, ceil(row.before + row.fetch), "fetch"))
    if row.wait:
        found.append((issue - ceil(row.wait), issue, row.reason.decode()))
    if row.lost:
        found.append((issue, ceil(row.issue + row.lost), row.lost_reason.decode()))
    return found


def _details(row: Row) -> str:
    """What Konata shows beside the pointer."""
    parts = [f"cycle {row.issue:g}", f"vl {row.vl}"]
    if row.size:
        parts.append(f"address {row.addr:#x}")
    parts += [f"{reason} {cycles:g}" for _, reason, cycles in row.charges()]
    return ", ".join(parts)
