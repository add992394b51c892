"""What a core's tables may contain: each entry's kind, unit, range and meaning.

The dataclasses of `rvsim.cost.core` and `rvsim.cost.classes` declare every entry once.  The loader,
``--core-set``, the template and the reference page all read these declarations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Final, Protocol, TypeVar

from rvsim.errors import RvsimError, did_you_mean

ABOUT: Final = ("source", "confidence")
"""Keys of a table that say something about its entries."""

CONFIDENCE: Final = ("measured", "derived", "borrowed", "guessed")

MOST_CYCLES: Final = 10_000

_FEW: Final = 10
"""The most choices that a message lists."""

T = TypeVar("T")


class Entry(Protocol):
    """One entry of a table."""

    @property
    def about(self) -> str:
        """Its meaning, in words."""

    @property
    def unit(self) -> str:
        """The unit of a number; empty for other values."""

    @property
    def values(self) -> str:
        """The values it may have, in words."""

    def read(self, where: str, value: Any) -> Any:
        """The entry for a TOML value; RvsimError names `where` if the value is wrong."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number within a range."""

    about: str
    unit: str
    low: float
    high: float
    whole: bool = False
    power_of_two: bool = False

    @property
    def values(self) -> str:
        """The range, in words."""
        kind = "whole number" if self.whole else "number"
        power = ", a power of two" if self.power_of_two else ""
        return f"{kind} from {self.low} to {self.high}{power}"

    def read(self, where: str, value: Any) -> float:
        """The number itself."""
        fits = isinstance(value, int if self.whole else int | float) and not isinstance(value, bool)
        if not fits or not self.low <= value <= self.high:
            kind = "a whole number" if self.whole else "a number"
            raise RvsimError(
                f"{where} = {shown(value)} is not {kind} from {self.low} to {self.high}"
            )
        if self.power_of_two and value & (value - 1):
            raise RvsimError(f"{where} = {value} is not a power of two")
        return value  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some values."""

    about: str
    admitted: tuple[Any, ...]
    unit: str = ""

    @property
    def values(self) -> str:
        """All admitted values."""
        return ", ".join(map(shown, self.admitted))

    def read(self, where: str, value: Any) -> Any:
        """The value itself; true does not count as 1."""
        if not any(type(value) is type(known) and value == known for known in self.admitted):
            if len(self.admitted) <= _FEW:
                raise RvsimError(f"{where} = {shown(value)} is not one of {self.values}")
            hint = did_you_mean(shown(value).strip("'"), map(str, self.admitted))
            raise RvsimError(f"{where} = {shown(value)} is not known", hint=hint)
        return value


def whole(about: str, unit: str, low: int, high: int, *, power_of_two: bool = False) -> Any:
    """A field that is a whole number."""
    return entry(Number(about, unit, low, high, True, power_of_two))


def cycles(about: str, *, low: float = 0, high: float = MOST_CYCLES, default: Any = MISSING) -> Any:
    """A field that is a number of cycles."""
    return entry(Number(about, "cycles", low, high), default)


def entry(declared: Entry, default: Any = MISSING) -> Any:
    """A field of a dataclass that declares a table; a field with a default is optional."""
    if default is MISSING:
        return field(metadata={"entry": declared})
    return field(default=default, metadata={"entry": declared})


def entries(table: type[Any]) -> dict[str, Entry]:
    """The entries of a table by name, in order."""
    return {f.name: f.metadata["entry"] for f in fields(table)}


def is_required(table: type[Any], name: str) -> bool:
    """Whether an entry has no default."""
    found: Field[Any] = next(f for f in fields(table) if f.name == name)
    return found.default is MISSING


def read_values(where: str, table: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The checked entries of a table; RvsimError gives the nearest name for an unknown entry."""
    known = entries(table)
    for name in values:
        if name not in known:
            raise RvsimError(f"unknown entry {name!r} in {where}", hint=did_you_mean(name, known))
    return {name: known[name].read(f"{where}.{name}", value) for name, value in values.items()}


def require_all(where: str, table: type[Any], values: Mapping[str, Any]) -> None:
    """RvsimError if an entry without a default is missing."""
    missing = [n for n in entries(table) if n not in values and is_required(table, n)]
    if missing:
        raise RvsimError(
            f"{where} lacks {', '.join(missing)}", hint="add it, or extend a core that has it"
        )


def read_about(where: str, table: Mapping[str, Any], *, required: bool) -> None:
    """Check the source and confidence of a table, or of one number; RvsimError if one is wrong."""
    for name in ABOUT:
        if required and table.get(name, "") == "":
            raise RvsimError(f"{where} has no {name}", hint=_HINTS[name])
        if not isinstance(table.get(name, ""), str):
            raise RvsimError(f"{where}.{name} = {shown(table[name])} is no text")
    confidence = table.get("confidence", CONFIDENCE[0])
    if confidence not in CONFIDENCE:
        raise RvsimError(
            f"{where}.confidence = {shown(confidence)} is not one of {', '.join(CONFIDENCE)}"
        )


_HINTS: Final = {
    "source": "say where the numbers come from",
    "confidence": f"it is one of {', '.join(CONFIDENCE)}",
}


def as_table(where: str, value: Any) -> Mapping[str, Any]:
    """The value if it is a table; RvsimError otherwise."""
    if not isinstance(value, Mapping):
        raise RvsimError(f"{where} = {shown(value)} is no table", hint=f"write [{where}]")
    return value


def as_list(where: str, value: Any) -> Sequence[Any]:
    """The value if it is a list; RvsimError otherwise."""
    if not isinstance(value, list):
        raise RvsimError(f"{where} = {shown(value)} is no list")
    return value


def shown(value: Any) -> str:
    """A value of a file for a message, shortened if it is long."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"{hex(value)[:20]}..."
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
