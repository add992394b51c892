"""Timing classes: how long the instructions of a unit take, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, Generic, TypeVar

from rvsim.cost.formula import Formula, Size
from rvsim.cost.schema import (
    ABOUT,
    Choice,
    as_list,
    as_table,
    cycles,
    entries,
    entry,
    read_values,
    require_all,
    shown,
)
from rvsim.errors import RvsimError, did_you_mean
from rvsim.insn.isa import isa
from rvsim.insn.units import Unit

SCALAR_UNITS: Final = ("mul", "fp")
RESULTS: Final = ("step", "end", "start")
NOT_VALUES: Final = frozenset({*ABOUT, "like", "cases"})
"""Keys of a class's table that are not entries of its timing."""

ONE_CYCLE: Final = Formula(base=1)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Situation:
    """What the conditions of cases test; `lmul` is text (``mf2``), for memory that of the data."""

    name: str = ""
    form: str = ""
    sew: int = 0
    lmul: str = ""
    masked: bool = False
    nf: int = 1
    style: str = ""


_LMULS: Final = ("mf8", "mf4", "mf2", "m1", "m2", "m4", "m8")
_STYLES: Final = ("unit", "fault_only_first", "strided", "indexed", "mask", "whole")

CONDITIONS: Final[Mapping[str, Choice]] = {
    "sew": Choice("SEW; for memory the width of the data", (8, 16, 32, 64)),
    "lmul": Choice("LMUL of vtype; for memory the EMUL of the data", _LMULS),
    "masked": Choice("whether v0 selects elements", (False, True)),
    "nf": Choice("fields of a segment", (1, 2, 3, 4, 5, 6, 7, 8)),
    "style": Choice("how memory is addressed", _STYLES),
}
"""Conditions with fixed values; the values of ``name`` and ``form`` come from the instructions."""


@dataclass(frozen=True, slots=True)
class FormulaEntry:
    """Cycles that depend on the size of the data."""

    about: str
    unit: str = "cycles"

    @property
    def values(self) -> str:
        """A number or a formula."""
        return "number or formula"

    def read(self, where: str, value: Any) -> Formula:
        """The formula; RvsimError names what is wrong."""
        try:
            return Formula.parse(value)
        except ValueError as error:
            raise RvsimError(f"{where}: {error}") from None


@dataclass(frozen=True, slots=True)
class Parts:
    """Cycles of a part of a register, as wide as the datapath, by its elements within vl."""

    full: float = cycles("if all elements are within vl")
    one: float = cycles("if one element is within vl")
    idle: float = cycles("if no element is within vl")


@dataclass(frozen=True, slots=True)
class PartsEntry:
    """Cycles of each part of a register."""

    about: str
    unit: str = "cycles"

    @property
    def values(self) -> str:
        """The three of them."""
        return f"table of {', '.join(entries(Parts))}"

    def read(self, where: str, value: Any) -> Parts:
        """All three."""
        table = as_table(where, value)
        found = read_values(where, Parts, table)
        require_all(where, Parts, found)
        return Parts(**found)


@dataclass(frozen=True, slots=True)
class ScalarTiming:
    """How long one scalar instruction takes."""

    latency: float = cycles("to the result")
    busy: float = cycles("that the unit is busy", default=1)
    unit: str = entry(Choice("the unit that it keeps busy", SCALAR_UNITS), "")
    quotient_bits: int = entry(
        Choice("of the quotient that a division makes in each cycle more", (1, 2, 4, 8), "bits"), 0
    )


@dataclass(frozen=True, slots=True)
class VectorTiming:
    """How long one vector instruction takes."""

    latency: Formula = entry(FormulaEntry("of the result, counted as `result` says"))
    occupancy: Formula = entry(FormulaEntry("that its unit is busy"), ONE_CYCLE)
    result: str = entry(
        Choice("whether latency counts from each step of a group, from the last, or the first",
               RESULTS), "step",
    )  # fmt: skip
    old: float = cycles(
        "by which the old destination must be ready before its step", low=-100, default=0
    )
    chain: bool = entry(
        Choice("whether each step needs only its part of the sources", (True, False)), True
    )
    release: float | None = cycles(
        "from the start until a load may overwrite the sources, instead of vector_unit.release",
        default=None,
    )
    parts: Parts | None = entry(
        PartsEntry("of each part of a register, instead of occupancy"), None
    )
    granules: float = cycles("more for each beat that a strided segment touches", default=0)

    def occupied(self, size: Size) -> float:
        """Cycles that its unit is busy, with a full vl."""
        if self.parts is not None:
            return self.parts.full * max(1, size.parts)
        return self.occupancy.cycles(size)


@dataclass(frozen=True, slots=True)
class CostCase:
    """Values that hold if all conditions in `when` hold; a condition lists the values it admits."""

    when: Mapping[str, tuple[Any, ...]]
    values: Mapping[str, Any]

    def holds(self, situation: Situation) -> bool:
        return all(getattr(situation, name) in admitted for name, admitted in self.when.items())


@dataclass(frozen=True, slots=True)
class ClassOf(Generic[T]):
    """A timing and its cases; later cases override earlier ones."""

    base: T
    cases: tuple[CostCase, ...] = ()

    def at(self, situation: Situation) -> T:
        """The timing in one situation."""
        values: dict[str, Any] = {}
        for case in self.cases:
            if case.holds(situation):
                values |= case.values
        return replace(self.base, **values)  # type: ignore[type-var]


ScalarClass = ClassOf[ScalarTiming]
VectorClass = ClassOf[VectorTiming]

VECTOR_CLASSES: Final = tuple(u.value for u in Unit if u.is_vector and u is not Unit.VSET)
SCALAR_CLASSES: Final = tuple(u.value for u in Unit if u.value not in VECTOR_CLASSES)


def check_class(where: str, timing: type[Any], value: Any) -> Mapping[str, Any]:
    """The table of a class; RvsimError names an unknown entry or condition, or a wrong value."""
    table = as_table(where, value)
    for key in ABOUT:
        if not isinstance(table.get(key, ""), str):
            raise RvsimError(f"{where}.{key} = {shown(table[key])} is no text")
    own = {k: v for k, v in table.items() if k not in NOT_VALUES}
    values = read_values(where, timing, own)
    if "like" in table:
        if timing is not VectorTiming or not isinstance(table["like"], str):
            raise RvsimError(f"{where}.like = {shown(table['like'])} is no vector class")
        if own:
            raise RvsimError(
                f"{where} is like {table['like']}, and has {', '.join(own)} besides",
                hint="write what differs as a case: cases = [{ latency = 5 }]",
            )
    else:
        _require(where, timing, values)
    _read_cases(where, timing, table)
    return table


def _require(where: str, timing: type[Any], values: Mapping[str, Any]) -> None:
    """RvsimError if a required entry is missing; a vector class needs occupancy or parts, too."""
    require_all(where, timing, values)
    if timing is VectorTiming and not {"occupancy", "parts"} & values.keys():
        raise RvsimError(f"{where} lacks occupancy", hint="or parts, for a division")


def read_scalar(unit: str, table: Mapping[str, Any]) -> ScalarClass:
    """The class in a table ``[scalar.<unit>]``."""
    where = f"scalar.{unit}"
    return ClassOf(ScalarTiming(**_own(where, ScalarTiming, table)),
                   _read_cases(where, ScalarTiming, table))  # fmt: skip


def read_vector(unit: str, tables: Mapping[str, Any], asked: tuple[str, ...] = ()) -> VectorClass:
    """The class in a table ``[vector.<unit>]``; a class that is `like` another adds cases to it.

    `asked` are the classes on the way here that are like this one.
    """
    where, table = f"vector.{unit}", tables[unit]
    cases = _read_cases(where, VectorTiming, table)
    if "like" not in table:
        return ClassOf(VectorTiming(**_own(where, VectorTiming, table)), cases)
    model, way = table["like"], (*asked, unit)
    if model not in tables:
        raise RvsimError(
            f"{where}.like = {shown(model)}: there is no such class",
            hint=did_you_mean(model, tables),
        )
    if model in way:
        raise RvsimError(f"{where}: {' is like '.join((*way, model))}, and none has numbers")
    found = read_vector(model, tables, way)
    return ClassOf(found.base, (*found.cases, *cases))


def _own(where: str, timing: type[Any], table: Mapping[str, Any]) -> dict[str, Any]:
    return read_values(where, timing, {k: v for k, v in table.items() if k not in NOT_VALUES})


def _read_cases(where: str, timing: type[Any], table: Mapping[str, Any]) -> tuple[CostCase, ...]:
    listed = as_list(f"{where}.cases", table.get("cases", []))
    return tuple(_case(f"{where}.cases[{i}]", timing, entry) for i, entry in enumerate(listed))


def _case(where: str, timing: type[Any], value: Any) -> CostCase:
    table, conditions = as_table(where, value), _conditions()
    known = {*conditions, *entries(timing)}
    for key in table:
        if key not in known:
            raise RvsimError(f"unknown entry {key!r} in {where}", hint=did_you_mean(key, known))
    when = {k: _admitted(f"{where}.{k}", conditions[k], table[k]) for k in table if k in conditions}
    rest = {k: v for k, v in table.items() if k not in conditions}
    return CostCase(when, read_values(where, timing, rest))


def _admitted(where: str, choice: Choice, value: Any) -> tuple[Any, ...]:
    """The values that a condition admits; TOML has one value or a list."""
    return tuple(choice.read(where, v) for v in (value if isinstance(value, list) else [value]))


@cache
def _conditions() -> Mapping[str, Choice]:
    """All conditions; names and forms come from the instructions."""
    insns = isa().insns
    scalar = {i.expands or i.name for i in insns if not i.unit.is_vector}
    parted = [i.name.partition(".") for i in insns if i.unit.is_vector]
    names = Choice("mnemonic; for vectors the part before the point",
                   (*sorted(scalar | {stem for stem, _, _ in parted}),))  # fmt: skip
    forms = Choice("the part of the mnemonic after the point",
                   (*sorted({form for _, _, form in parted}),))  # fmt: skip
    return {"name": names, "form": forms, **CONDITIONS}
