"""Timing classes: how long the instructions of a unit take, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Generic, TypeVar

from rvsim.cost.formula import Formula, Size
from rvsim.errors import RvsimError

SCALAR_UNITS: Final = ("mul", "fp")
RESULTS: Final = ("step", "end", "start")
_ABOUT: Final = frozenset({"source", "confidence", "like", "cases"})

ONE_CYCLE: Final = Formula(base=1)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Situation:
    """What the cases of a class look at; `lmul` as text (``mf2``), for memory that of the data."""

    name: str = ""
    form: str = ""
    sew: int = 0
    lmul: str = ""
    masked: bool = False
    nf: int = 1
    style: str = ""


_HALVES: Final = {"full", "one", "idle"}
_CONDITIONS: Final = frozenset(f.name for f in fields(Situation))


@dataclass(frozen=True, slots=True)
class ScalarTiming:
    """Cycles to the result; `unit` is busy for `busy` of them.

    A division takes one cycle more for each `quotient_bits` of its quotient.
    """

    latency: float
    busy: float = 1
    unit: str = ""
    quotient_bits: int = 0


@dataclass(frozen=True, slots=True)
class Halves:
    """Cycles of a half register by its elements within vl: all of them, one, or none."""

    full: float
    one: float
    idle: float


@dataclass(frozen=True, slots=True)
class VectorTiming:
    """How one vector instruction takes its time, for what it is: see `isa/cores/x60.toml`.

    With `halves` the occupancy is what those add up to, and `occupancy` that of a full vl.
    `granules` are cycles for each 16 bytes that a strided segment touches, besides.
    """

    latency: Formula
    occupancy: Formula = ONE_CYCLE
    result: str = "step"
    old: float = 0
    chain: bool = True
    release: float | None = None
    halves: Halves | None = None
    granules: float = 0

    def occupied(self, size: Size) -> float:
        """Cycles that it keeps its unit, with a full vl."""
        if self.halves is not None:
            return self.halves.full * max(1, 2 * size.lmul)
        return self.occupancy.cycles(size)


@dataclass(frozen=True, slots=True)
class Case:
    """Values that hold where all conditions do; a condition lists what it admits."""

    when: Mapping[str, tuple[Any, ...]]
    values: Mapping[str, Any]

    def holds(self, situation: Situation) -> bool:
        return all(getattr(situation, name) in admitted for name, admitted in self.when.items())


@dataclass(frozen=True, slots=True)
class ClassOf(Generic[T]):
    """A timing and its cases; later cases override earlier ones."""

    base: T
    cases: tuple[Case, ...] = ()

    def at(self, situation: Situation) -> T:
        """The timing in one situation."""
        values: dict[str, Any] = {}
        for case in self.cases:
            if case.holds(situation):
                values |= case.values
        return replace(self.base, **values)  # type: ignore[type-var]


ScalarClass = ClassOf[ScalarTiming]
VectorClass = ClassOf[VectorTiming]


def read_scalar(where: str, table: Mapping[str, Any]) -> ScalarClass:
    """The class in a table ``[scalar.<unit>]``."""
    base = ScalarTiming(**_values(where, table, _scalar_value))
    return ClassOf(base, _cases(where, table, _scalar_value))


def read_vector(unit: str, tables: Mapping[str, Any]) -> VectorClass:
    """The class in a table ``[vector.<unit>]``; one that is `like` another adds to its cases."""
    where, table = f"vector.{unit}", tables[unit]
    cases = _cases(where, table, _vector_value)
    if "like" in table:
        model = read_vector(table["like"], tables)
        return ClassOf(model.base, (*model.cases, *cases))
    return ClassOf(VectorTiming(**_values(where, table, _vector_value)), cases)


def _values(where: str, table: Mapping[str, Any], parse: Any) -> dict[str, Any]:
    return {k: parse(f"{where}.{k}", k, v) for k, v in table.items() if k not in _ABOUT}


def _cases(where: str, table: Mapping[str, Any], parse: Any) -> tuple[Case, ...]:
    cases = []
    for i, entry in enumerate(table.get("cases", ())):
        when = {
            k: tuple(v) if isinstance(v, list) else (v,)
            for k, v in entry.items()
            if k in _CONDITIONS
        }
        rest = {k: v for k, v in entry.items() if k not in _CONDITIONS}
        cases.append(Case(when, _values(f"{where}.cases[{i}]", rest, parse)))
    return tuple(cases)


def _scalar_value(where: str, key: str, value: Any) -> Any:
    match key:
        case "latency" | "busy":
            return _cycles(where, value)
        case "unit" if value in SCALAR_UNITS:
            return value
        case "quotient_bits" if value in (1, 2, 4, 8):
            return value
    raise RvsimError(f"{where} = {value!r} is not understood")


def _vector_value(where: str, key: str, value: Any) -> Any:
    match key:
        case "occupancy" | "latency":
            try:
                return Formula.parse(value)
            except ValueError as error:
                raise RvsimError(f"{where}: {error}") from None
        case "old":
            return _cycles(where, value, low=-100)
        case "release" | "granules":
            return _cycles(where, value)
        case "halves" if isinstance(value, Mapping) and value.keys() == _HALVES:
            return Halves(**{k: _cycles(f"{where}.{k}", v) for k, v in value.items()})
        case "result" if value in RESULTS:
            return value
        case "chain" if isinstance(value, bool):
            return value
    raise RvsimError(f"{where} = {value!r} is not understood")


def _cycles(where: str, value: Any, low: float = 0) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not low <= value <= 10_000:
        raise RvsimError(f"{where} = {value!r} is not a number of cycles from {low} to 10000")
    return float(value)
