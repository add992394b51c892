"""The roofline as a picture: both axes are logarithmic, positions are SVG coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import atan2, ceil, degrees, floor, hypot, log2
from typing import Final

from rvsim.page.programs import ReportedProgram
from rvsim.page.tables import Table, TableRow
from rvsim.perf import Point, Roof, memory_roofs, point, sews_of, unit_roofs

WIDTH: Final = 520
HEIGHT: Final = 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 22, 46
_MOST_TICKS: Final = 8
_LABEL_HEIGHT: Final = 14
_ALONG: Final = 0.95
"""Where on its line the name of a memory ends: few points are that near to the peak."""
_NEAR: Final = 8
"""Points less than this far apart share a label."""


@dataclass(frozen=True, slots=True)
class DrawnRoof:
    """A roof; its name ends at (`x`, `y`), turned by `angle` degrees, `offset` below the line."""

    name: str
    kind: str
    x1: float
    y1: float
    x2: float
    y2: float
    x: float
    y: float
    angle: float = 0.0
    offset: float = -5.0


@dataclass(frozen=True, slots=True)
class Tick:
    """A number at an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A program's point, with the place of its label."""

    label: str
    title: str
    x: float
    y: float
    label_x: float
    label_y: float
    side: str


@dataclass(frozen=True, slots=True)
class Roofline:
    """The picture and its numbers."""

    lines: tuple[DrawnRoof, ...]
    xs: tuple[Tick, ...]
    ys: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    points: Table
    roofs: Table
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


@dataclass(frozen=True, slots=True)
class _Scale:
    """The exponents (log2) at the ends of both axes."""

    x_low: int
    x_high: int
    y_low: int
    y_high: int

    @staticmethod
    def around(points: Sequence[Point], units: Sequence[Roof], memories: Sequence[Roof]) -> _Scale:
        """A scale with all points, and the place where the highest unit meets the lowest memory."""
        xs = [p.intensity for p in points if p.intensity is not None]
        ys = [p.rate for p in points if p.intensity is not None]
        top, slowest = max(r.rate for r in units), min(r.rate for r in memories)
        x_low = floor(log2(min(*xs, 0.5, 1.0) / 2))
        x_high = ceil(log2(max(*xs, top / slowest, 1.0) * 2))
        y_low = floor(log2(min(*ys, slowest * 2.0**x_low, top) / 2))
        return _Scale(x_low, x_high, y_low, ceil(log2(max(*ys, top, 1.0))) + 1)

    def x(self, value: float) -> float:
        room = WIDTH - _LEFT - _RIGHT
        return _LEFT + room * (log2(value) - self.x_low) / (self.x_high - self.x_low)

    def y(self, value: float) -> float:
        room = HEIGHT - _TOP - _BOTTOM
        return _TOP + room * (self.y_high - log2(value)) / (self.y_high - self.y_low)


def roofline(programs: Sequence[ReportedProgram]) -> Roofline:
    """The roofline of programs; all of them have the same core and VLEN."""
    core, vlen = programs[0].profile.core, programs[0].vlen
    profiles = [program.profile for program in programs]
    units, memories = unit_roofs(core, vlen, sews_of(profiles)), memory_roofs(core, vlen)
    points = [point(profile) for profile in profiles]
    scale = _Scale.around(points, units, memories)
    top = max(units, key=lambda roof: roof.rate)
    return Roofline(
        lines=(
            *(_memory_line(scale, roof, top.rate, roof is memories[-1]) for roof in memories),
            *(_unit_line(scale, roof, memories[0].rate, roof is not top) for roof in units),
        ),
        xs=tuple(Tick(scale.x(2.0**n), _power(n)) for n in _ticks(scale.x_low, scale.x_high)),
        ys=tuple(Tick(scale.y(2.0**n), _power(n)) for n in _ticks(scale.y_low, scale.y_high)),
        marks=tuple(_marks(scale, programs, points)),
        points=_point_table(programs, points, memories, top),
        roofs=_roof_table(units, memories),
    )


def _memory_line(scale: _Scale, roof: Roof, top: float, below: bool) -> DrawnRoof:
    """The line of a memory, up to the highest unit; the name may be `below` it."""
    first = max(2.0**scale.x_low, 2.0**scale.y_low / roof.rate)
    last = top / roof.rate
    x1, y1, x2, y2 = scale.x(first), scale.y(first * roof.rate), scale.x(last), scale.y(top)
    angle = degrees(atan2(y2 - y1, x2 - x1))
    x, y = x1 + _ALONG * (x2 - x1), y1 + _ALONG * (y2 - y1)
    name = f"{roof.name} {roof.rate:.3g} B/cycle"
    return DrawnRoof(name, "memory", x1, y1, x2, y2, x, y, angle, 14.0 if below else -5.0)


def _unit_line(scale: _Scale, roof: Roof, fastest: float, below: bool) -> DrawnRoof:
    """The line of a unit, from where the fastest memory allows it; the name may be `below` it."""
    x1, x2, y = scale.x(roof.rate / fastest), float(WIDTH - _RIGHT), scale.y(roof.rate)
    name = f"{roof.name} {roof.rate:.4g} a cycle"
    return DrawnRoof(name, "unit", x1, y, x2, y, x2 - 2, y, offset=14.0 if below else -5.0)


def _marks(
    scale: _Scale, programs: Sequence[ReportedProgram], points: Sequence[Point]
) -> list[Mark]:
    """The points; points in one place share a label, and labels do not overlap."""
    marks: list[Mark] = []
    for i, (program, found) in enumerate(zip(programs, points, strict=True)):
        if found.intensity is None:
            continue
        label = f"{i + 1}" if len(programs) > 1 else f"{found.rate:.4g}"
        title = f"{program.name}: {found.rate:.4g} multiply-adds a cycle"
        mark = _mark(scale.x(found.intensity), scale.y(found.rate), label, title)
        same = [n for n, other in enumerate(marks) if _is_near(mark, other)]
        if same:
            other = marks[same[0]]
            marks[same[0]] = replace(other, label=f"{other.label}, {label}")
            mark = replace(mark, label="")
        marks.append(mark)
    return _apart(marks)


def _mark(x: float, y: float, label: str, title: str) -> Mark:
    """A point with its label at the right, or at the left near the right edge."""
    left = x > WIDTH * 0.75
    return Mark(label, title, x, y, x - 9 if left else x + 9, y + 5, "end" if left else "start")


def _is_near(one: Mark, other: Mark) -> bool:
    return bool(other.label) and hypot(one.x - other.x, one.y - other.y) < _NEAR


def _apart(marks: Sequence[Mark]) -> list[Mark]:
    """Move labels so that, from the top down, each is below the one before it."""
    placed: list[Mark] = []
    lowest = 0.0
    for mark in sorted(marks, key=lambda mark: mark.y):
        placed.append(replace(mark, label_y=max(mark.label_y, lowest)))
        lowest = placed[-1].label_y + _LABEL_HEIGHT if mark.label else lowest
    return placed


def _ticks(low: int, high: int) -> range:
    return range(low, high + 1, ceil((high - low + 1) / _MOST_TICKS))


def _power(n: int) -> str:
    return str(2**n) if n >= 0 else f"1/{2**-n}"


def _point_table(
    programs: Sequence[ReportedProgram],
    points: Sequence[Point],
    memories: Sequence[Roof],
    top: Roof,
) -> Table:
    """The place of each program, and the rate that each memory would allow there."""
    allowed = tuple(f"{roof.name} allows" for roof in memories)
    rows = []
    for i, (program, found) in enumerate(zip(programs, points, strict=True)):
        name = f"{i + 1}  {program.name}" if len(programs) > 1 else program.name
        cells = [name, f"{found.macs:,}", f"{found.moved_bytes:,}"]
        if found.intensity is None:
            cells += ["-"] * (2 + len(memories))
        else:
            at = found.intensity
            cells += [f"{at:.3g}", f"{found.rate:.4g}"]
            cells += [f"{min(top.rate, roof.rate * at):.4g}" for roof in memories]
        rows.append(TableRow(tuple(cells)))
    columns = ("multiply-adds", "bytes", "multiply-adds a byte", "a cycle")
    return Table(("program", *columns, *allowed), tuple(rows))


def _roof_table(units: Sequence[Roof], memories: Sequence[Roof]) -> Table:
    rows = [
        *((roof, "multiply-adds a cycle") for roof in units),
        *((roof, "bytes a cycle") for roof in memories),
    ]
    cells = (TableRow((roof.name, f"{roof.rate:.4g}", unit, roof.number)) for roof, unit in rows)
    return Table(("roof", "at best", "", "number of the core"), tuple(cells), text=2)
