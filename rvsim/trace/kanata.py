"""``kanata:FILE``: a log for the pipeline viewer Konata, in the Kanata format version 4.

Lane 0 of an instruction shows where it is: ``W`` waits for its turn to issue, ``Is`` issues, ``Q``
is queued for its unit, ``X`` executes.  Lane 1 shows why it waits, by the model's reasons.
The log only goes forward in time, so events of later cycles wait.  Retirement numbers are in
program order, as Konata's rows are.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.cost import REASONS
from rvsim.cost.batch import Batch, PerInstruction
from rvsim.cost.formula import CYCLE, FRACTION_BITS
from rvsim.cost.reasons import FETCH
from rvsim.insn.decode import Decoded
from rvsim.insn.disasm import disassemble
from rvsim.machine import Machine
from rvsim.trace import text_columns as text
from rvsim.trace.files import TraceFile
from rvsim.trace.text_columns import Column, columns, only

_Rows = npt.NDArray[Any]
_Cycles = npt.NDArray[np.int64]
_Happens = list[tuple[_Cycles, "int | npt.NDArray[Any]", "bool | npt.NDArray[np.bool_]"]]
"""Kinds of events, each with columns: the cycle, what happens, and whether it happens."""

_EVENT: Final = np.dtype([("cycle", "<i8"), ("number", "<i8"), ("what", "<i8")])
"""A line of the instruction with this number in the file; `what` is an index into `_LINES`."""

_FIXED: Final = ("I", "R", "S\t0\tIs", "S\t0\tQ", "S\t0\tX", "E\t0\tIs", "E\t0\tX")
_BEGIN, _RETIRE, _ISSUE, _QUEUE, _EXECUTE, _END_OF_ISSUE, _END = range(len(_FIXED))
_STALL: Final = len(_FIXED)
_END_OF_STALL: Final = _STALL + len(REASONS)
_LINES: Final = [*_FIXED, *(f"{end}\t1\t{reason}" for end in "SE" for reason in REASONS)]
"""A command, and the text after the number; lines of `_BEGIN` and `_RETIRE` are longer."""

_COMMANDS: Final = np.array([f"{line[:1]}\t".encode() for line in _LINES])
_ENDINGS: Final = np.array([f"{line[1:]}\n".encode() for line in _LINES])
_CHARGES: Final = np.array([f", {reason} ".encode() for reason in REASONS])


class KanataTrace:
    """Writes the events of a cycle when no earlier ones can come."""

    def __init__(self, path: str, machine: Machine) -> None:
        text.keep_memory()
        self._file = TraceFile(path)
        self._file.begin(b"Kanata\t0004\n")
        self._events = np.zeros(0, _EVENT)
        self._instructions = 0
        self._cycle: int | None = None
        self._label = PerInstruction(_label)

    def batch(self, batch: Batch) -> None:
        for piece in text.pieces(batch):
            self._piece(piece)

    def _piece(self, batch: Batch) -> None:
        rows = batch.rows
        numbers = np.arange(self._instructions, self._instructions + len(rows))
        self._instructions += len(rows)
        self._events = np.concatenate([self._events, _events(rows, numbers)])
        self._write_until(_begin(rows[-1]), _beginnings(rows, numbers, self._label(batch)))

    def close(self) -> None:
        if len(self._events):
            self._write_until(self._events["cycle"].max(), np.zeros(0, "S1"))
        self._file.close()

    def _write_until(self, cycle: int, beginnings: Column) -> None:
        """Write all events up to and including this cycle, which has at least one."""
        due = self._events["cycle"] <= cycle
        events = self._events.compress(due)
        self._events = self._events.compress(~due)
        events = events.take(np.argsort(events["cycle"], kind="stable"))
        if self._cycle is None:
            self._cycle = events["cycle"][0]
            self._file.write(b"C=\t%d\n" % self._cycle)
        elapsed = np.diff(events["cycle"], prepend=self._cycle)
        self._cycle = cycle
        self._file.write(_lines(events, elapsed, beginnings))


# -- when things happen


def _floor(times: Any) -> Any:
    return times >> FRACTION_BITS


def _ceil(times: Any) -> Any:
    return (times + (CYCLE - 1)) >> FRACTION_BITS


def _begin(rows: Any) -> Any:
    """The cycle from which an instruction could have issued."""
    return _floor(rows["issue"] - rows["fetch"] - rows["slot"] - rows["wait"])


def _events(rows: _Rows, numbers: _Cycles) -> npt.NDArray[Any]:
    """The events of each instruction, in their order within a cycle."""
    happens = [*_stalls(rows), *_stages(rows)]
    events = np.empty((len(rows), len(happens)), _EVENT)
    chosen = np.empty(events.shape, bool)
    events["number"] = numbers[:, None]
    for column, (cycle, what, if_so) in enumerate(happens):
        events["cycle"][:, column] = cycle
        events["what"][:, column] = what
        chosen[:, column] = if_so
    return events.ravel().compress(chosen.ravel())


def _stalls(rows: _Rows) -> _Happens:
    """The beginning, and the cycles that delayed issue."""
    begin, issue, wait, lost = _begin(rows), _floor(rows["issue"]), rows["wait"], rows["lost"]
    reason, lost_reason = rows["reason"].astype(int), rows["lost_reason"].astype(int)
    fetches, waits, loses = rows["fetch"] > 0, wait > 0, lost > 0
    return [
        (begin, _BEGIN, True),
        (begin, _STALL + FETCH, fetches),
        (_ceil(rows["issue"] - rows["slot"] - wait), _END_OF_STALL + FETCH, fetches),
        (issue - _ceil(wait), _STALL + reason, waits),
        (issue, _END_OF_STALL + reason, waits),
        (issue, _STALL + lost_reason, loses),
        (_ceil(rows["issue"] + lost), _END_OF_STALL + lost_reason, loses),
    ]


def _stages(rows: _Rows) -> _Happens:
    """The stages from issue on; the last event is after all others of the instruction."""
    issue = _floor(rows["issue"])
    executes = np.maximum(_floor(rows["start"]), issue + 1)
    done = np.maximum(_ceil(rows["done"]), issue + 1)
    works = done > executes
    return [
        (issue, _ISSUE, True),
        (issue + 1, _QUEUE, executes > issue + 1),
        (executes, _EXECUTE, works),
        (done, np.where(works, _END, _END_OF_ISSUE), True),
        (np.maximum(done, _ceil(rows["issue"] + rows["lost"])), _RETIRE, True),
    ]


# -- what it looks like


def _label(d: Decoded) -> bytes:
    return f"{d.pc:x}: {disassemble(d)}".encode()


def _beginnings(rows: _Rows, numbers: _Cycles, labels: Column) -> Column:
    """Each instruction's lines in its first cycle, without its stall."""
    number = text.decimal(numbers)
    waits = _floor(rows["issue"]) > _begin(rows)
    return columns(
        *(b"I\t", number, b"\t", text.decimal(rows["instret"]), b"\t0\n"),
        *(b"L\t", number, b"\t0\t", labels, b"\n"),
        *(b"L\t", number, b"\t1\t", *_details(rows), b"\n"),
        only(waits, columns(b"S\t", number[waits], b"\t0\tW\n")),
    )


def _details(rows: _Rows) -> list[bytes | Column]:
    """The details that Konata shows beside the pointer."""
    at = rows["size"] > 0
    address = columns(b", address 0x", text.hexadecimal(rows["addr"][at]))
    return [
        *(b"cycle ", text.cycles(rows["issue"]), b", vl ", text.decimal(rows["vl"])),
        only(at, address),
        _charge(rows["fetch"], b", fetch "),
        _charge(rows["slot"], b", issue "),
        _charge(rows["wait"], _CHARGES.take(rows["reason"])),
        _charge(rows["lost"], _CHARGES.take(rows["lost_reason"])),
    ]


def _charge(times: _Cycles, name: bytes | Column) -> Column:
    charged = times > 0
    return only(charged, columns(text.some(name, charged), text.cycles(times[charged])))


def _lines(events: npt.NDArray[Any], elapsed: _Cycles, beginnings: Column) -> bytes:
    """The text of events in order, and between them of the cycles that elapse."""
    places = np.arange(len(events)) + np.cumsum(elapsed > 0)
    number, what = text.decimal(events["number"]), events["what"]
    moves, begins, retires, others = map(
        np.flatnonzero, (elapsed > 0, what == _BEGIN, what == _RETIRE, what > _RETIRE)
    )
    move = columns(b"C\t", text.decimal(elapsed[moves]), b"\n")
    retire = columns(b"R\t", number[retires], b"\t", number[retires], b"\t0\n")
    what = what[others]
    other = columns(_COMMANDS.take(what), number[others], _ENDINGS.take(what))
    return text.joined(
        [
            (places[moves] - 1, move),
            (places[begins], beginnings),
            (places[retires], retire),
            (places[others], other),
        ]
    )
