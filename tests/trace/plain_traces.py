"""Kanata and Chrome traces in plain Python, a row at a time: what those in columns must equal.

Times are counted in 1/256 cycle.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CYCLE = 256


@dataclass
class PlainRow:
    """One instruction; `unit` is the track of its unit, or empty."""

    instret: int
    pc: int
    label: str
    unit: str
    vl: int
    addr: int
    size: int
    issue: int
    start: int
    done: int
    fetch: int
    slot: int
    wait: int
    reason: str
    lost: int
    lost_reason: str

    def charges(self) -> list[tuple[str, int]]:
        found = [("fetch", self.fetch), ("issue", self.slot)]
        found += [(self.reason, self.wait), (self.lost_reason, self.lost)]
        return [(name, time) for name, time in found if time]


def number(time: int) -> str:
    """Cycles as an exact decimal number."""
    digits = time * 10**8 // CYCLE  # 1/256 has eight decimals
    return f"{digits // 10**8}.{digits % 10**8:08}".rstrip("0").rstrip(".")


def up(time: int) -> int:
    return -(-time // CYCLE)


def kanata(rows: Sequence[PlainRow]) -> str:
    events: list[tuple[int, int, str]] = []

    def event(cycle: int, line: str) -> None:
        events.append((cycle, len(events), line))

    for n, row in enumerate(rows):
        begin = (row.issue - row.fetch - row.slot - row.wait) // CYCLE
        issue = row.issue // CYCLE
        details = [f"cycle {number(row.issue)}", f"vl {row.vl}"]
        details += [f"address {row.addr:#x}"] if row.size else []
        details += [f"{name} {number(time)}" for name, time in row.charges()]
        event(begin, f"I\t{n}\t{row.instret}\t0")
        event(begin, f"L\t{n}\t0\t{row.pc:x}: {row.label}")
        event(begin, f"L\t{n}\t1\t{', '.join(details)}")
        if issue > begin:
            event(begin, f"S\t{n}\t0\tW")
        stalls = [
            (row.fetch, begin, up(row.issue - row.slot - row.wait), "fetch"),
            (row.wait, issue - up(row.wait), issue, row.reason),
            (row.lost, issue, up(row.issue + row.lost), row.lost_reason),
        ]
        last = issue
        for time, start, end, name in stalls:
            if time:
                event(start, f"S\t{n}\t1\t{name}")
                event(end, f"E\t{n}\t1\t{name}")
                last = max(last, end)
        event(issue, f"S\t{n}\t0\tIs")
        executes = max(row.start // CYCLE, issue + 1)
        done = max(up(row.done), issue + 1)
        if executes > issue + 1:
            event(issue + 1, f"S\t{n}\t0\tQ")
        if done > executes:
            event(executes, f"S\t{n}\t0\tX")
        event(done, f"E\t{n}\t0\t{'X' if done > executes else 'Is'}")
        event(max(last, done), f"R\t{n}\t{n}\t0")
    lines = ["Kanata\t0004"]
    now: int | None = None
    for cycle, _, line in sorted(events):
        if cycle != now:
            lines.append(f"C=\t{cycle}" if now is None else f"C\t{cycle - now}")
            now = cycle
        lines.append(line)
    return "\n".join(lines) + "\n"


def chrome(rows: Sequence[PlainRow]) -> dict[str, list[tuple[Any, ...]]]:
    """Slices and counters of each track, in order: (start, length, name, args), (time, value)."""
    tracks: dict[str, list[tuple[Any, ...]]] = {"vl": [], "IPC": []}
    in_unit: dict[str, tuple[int, PlainRow]] = {}

    def show(track: str, start: int, end: int, name: str, args: dict[str, Any]) -> None:
        times = start / CYCLE, max(end - start, 0) / CYCLE
        tracks.setdefault(track, []).append((*times, name, args))

    def leave(unit: str, until: int) -> None:
        start, row = in_unit[unit]
        show(unit, start, min(row.done, until), row.label, arguments(row))

    slot, issued, vl, since, count = 0, -1, -1, rows[0].issue, 0
    for row in rows:
        slot, issued = (slot + 1 if row.issue == issued else 0), row.issue
        if row.vl != vl:
            vl = row.vl
            tracks["vl"].append((row.issue / CYCLE, vl))
        if row.issue - since >= 100 * CYCLE:
            rate = count * CYCLE / (row.issue - since)
            tracks["IPC"].append((since / CYCLE, float(f"{rate:.6g}")))
            since, count = row.issue, 0
        count += 1
        for time, end, name in (
            (row.fetch, row.issue - row.slot - row.wait, "fetch"),
            (row.wait, row.issue, row.reason),
            (row.lost, row.issue + row.lost, row.lost_reason),
        ):
            if time:
                show("waits", end - time, end, name, {"pc": hex(row.pc)})
        args = arguments(row)
        show(f"issue slot {slot}", row.issue, row.issue + CYCLE, row.label, args)
        if row.unit:
            start = row.start
            if row.unit in in_unit:
                start = max(start, in_unit[row.unit][0])
                leave(row.unit, start)
            in_unit[row.unit] = start, row
    for unit, (_, row) in in_unit.items():
        leave(unit, row.done)
    return {track: events for track, events in tracks.items() if events}


def arguments(row: PlainRow) -> dict[str, Any]:
    cycles: dict[str, float] = {}
    for name, time in row.charges():
        cycles[name] = cycles.get(name, 0) + time / CYCLE
    args: dict[str, Any] = {"pc": hex(row.pc), "instret": row.instret, "vl": row.vl}
    args |= {"address": hex(row.addr)} if row.size else {}
    args |= {key: getattr(row, key) / CYCLE for key in ("issue", "start", "done")}
    return args | ({"cycles": cycles} if cycles else {})


def read_chrome(text: str) -> dict[str, list[tuple[Any, ...]]]:
    """A file as `chrome` gives it; every track is named before its first slice."""
    tracks: dict[str, list[tuple[Any, ...]]] = {}
    names: dict[int, str] = {}
    for event in json.loads(text, object_pairs_hook=_once)["traceEvents"]:
        match event:
            case {"ph": "X", "tid": tid, "ts": ts, "dur": dur, "name": name, "args": args}:
                tracks.setdefault(names[tid], []).append((ts, dur, name, args))
            case {"ph": "C", "name": name, "ts": ts, "args": args}:
                tracks.setdefault(name, []).append((ts, args[name]))
            case {"ph": "M", "name": "thread_name", "tid": tid, "args": {"name": name}}:
                assert tid not in names
                names[tid] = name
            case _:
                assert event["name"] == "process_name"
    return tracks


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, in which no name may come twice."""
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)
