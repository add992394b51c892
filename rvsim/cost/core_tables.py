"""Reads the files of a core: checks the tables, merges them, and applies overrides.

A core that `extends` another one gives the numbers that differ, table by table.  Its classes of
instructions replace those of the other core; a class that is `like` itself adds cases instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rvsim.core_files import CoreFile, read_core
from rvsim.cost import overrides as overrides_of
from rvsim.cost.classes import (
    SCALAR_CLASSES,
    VECTOR_CLASSES,
    ScalarTiming,
    VectorTiming,
    check_class,
    read_scalar,
    read_vector,
)
from rvsim.cost.core import SECTIONS, Core, check
from rvsim.cost.schema import (
    ABOUT,
    as_table,
    entries,
    read_about,
    read_values,
    require_all,
    shown,
)
from rvsim.errors import RvsimError, did_you_mean

Tables = dict[str, dict[str, Any]]
"""For each section, its numbers as ``{value, source, confidence}``; for ``scalar`` and ``vector``,
the tables of the classes."""

_CLASSES: Final = {
    "scalar": (SCALAR_CLASSES, ScalarTiming),
    "vector": (VECTOR_CLASSES, VectorTiming),
}
_LENT: Final = "core "
_TEXTS: Final = ("name", "description", "extends")


def load_core(name: str, overrides: Sequence[str] = ()) -> Core:
    """The core with this name, or in a file whose path ends in ``.toml``, with overrides.

    An override is ``l1d.size=64K``, or the path of a TOML file that has the same tables with
    the numbers that differ.  RvsimError names an entry that is unknown, missing or out of range.
    """
    files = read_core(name)
    tables = _merged(files)
    for override in overrides:
        overrides_of.apply(tables, override)
    return _core(files[-1], tables)


def describe(name: str) -> Iterator[tuple[str, Any, str, str]]:
    """(dotted name, value, source, confidence) of every number of a core, except those in cases.

    Numbers of a core that it extends have the confidence "borrowed".
    """
    yield from _described(_merged(read_core(name)), (), "", "")


def _described(
    table: Mapping[str, Any], prefix: tuple[str, ...], source: str, confidence: str
) -> Iterator[tuple[str, Any, str, str]]:
    source, confidence = table.get("source", source), table.get("confidence", confidence)
    if "value" in table:
        yield ".".join(prefix), table["value"], source, confidence
        return
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _described(value, (*prefix, key), source, confidence)
        elif isinstance(value, int | float):
            yield ".".join((*prefix, key)), value, source, confidence


# -- one file


def _checked(file: CoreFile) -> Tables:
    """The tables of a file, each number with its source; RvsimError for a wrong entry."""
    try:
        known = (*_TEXTS, *SECTIONS, *_CLASSES)
        for key, value in file.tables.items():
            if key not in known:
                raise RvsimError(f"unknown table [{key}]", hint=did_you_mean(key, known))
            if key in _TEXTS and not isinstance(value, str):
                raise RvsimError(f"{key} = {shown(value)} is no text")
        found = {n: _section(n, file.tables[n]) for n in SECTIONS if n in file.tables}
        return found | {kind: _classes(kind, file.tables.get(kind, {})) for kind in _CLASSES}
    except RvsimError as error:
        raise _in(file, error) from None


def _section(name: str, value: Any) -> dict[str, Any]:
    table = as_table(name, value)
    read_about(name, table, required=True)
    numbers = {k: _number(name, k, v, table) for k, v in table.items() if k not in ABOUT}
    read_values(name, SECTIONS[name], {k: n["value"] for k, n in numbers.items()})
    return numbers


def _number(section: str, key: str, value: Any, table: Mapping[str, Any]) -> dict[str, Any]:
    """A number with its own source and confidence, or those of its table."""
    about: dict[str, Any] = {name: table[name] for name in ABOUT}
    if not isinstance(value, Mapping):
        return {"value": value, **about}
    where = f"{section}.{key}"
    parts = {"value", *ABOUT}
    for name in value:
        if name not in parts:
            raise RvsimError(f"unknown entry {name!r} in {where}", hint=did_you_mean(name, parts))
    if "value" not in value:
        raise RvsimError(f"{where} has no value")
    read_about(where, value, required=False)
    return {**about, **value}


def _classes(kind: str, value: Any) -> dict[str, Any]:
    known, timing = _CLASSES[kind]
    found = {}
    for unit, table in as_table(kind, value).items():
        if unit not in known:
            hint = did_you_mean(unit, known)
            raise RvsimError(f"unknown class [{kind}.{unit}]", hint=hint)
        found[unit] = dict(check_class(f"{kind}.{unit}", timing, table))
        if "like" not in found[unit]:
            read_about(f"{kind}.{unit}", found[unit], required=True)
    return found


def _in(file: CoreFile, error: RvsimError) -> RvsimError:
    return RvsimError(f"core {file.name}: {error.message}", hint=error.hint)


# -- all files of a core


def _merged(files: Sequence[CoreFile]) -> Tables:
    tables: Tables = {}
    for number, file in enumerate(files):
        own = _checked(file)
        for table in tables.values():
            _lend(table, files[number - 1].name)
        for name, table in own.items():
            before = tables.setdefault(name, {})
            if name in _CLASSES:
                table = {unit: _added(before, unit, t) for unit, t in table.items()}
            before.update(table)
    return tables


def _lend(table: dict[str, Any], owner: str) -> None:
    """Mark the numbers of a table as borrowed from the core `owner`."""
    for key, value in table.items():
        if "source" in value and not value["source"].startswith(_LENT):
            source = f"{_LENT}{owner}: {value['source']}"
            table[key] = value | {"source": source, "confidence": "borrowed"}


def _added(before: Mapping[str, Any], unit: str, table: dict[str, Any]) -> dict[str, Any]:
    """The table of a class; one that is like itself gets the other core's numbers and cases."""
    if table.get("like") != unit or unit not in before:
        return table
    about = {k: table[k] for k in ABOUT if k in table}
    cases = [*before[unit].get("cases", ()), *table.get("cases", ())]
    return {**before[unit], **about, "cases": cases}


def _core(file: CoreFile, tables: Tables) -> Core:
    try:
        sections = {name: _filled(name, tables.get(name)) for name in SECTIONS}
        scalar, vector = tables["scalar"], tables["vector"]
        return check(
            Core(
                name=file.tables.get("name", file.name),
                scalar={unit: read_scalar(unit, t) for unit, t in scalar.items()},
                vector={unit: read_vector(unit, vector) for unit in vector},
                **sections,
            )
        )
    except RvsimError as error:
        raise _in(file, error) from None


def _filled(name: str, numbers: Mapping[str, Any] | None) -> Any:
    """The dataclass of a section."""
    section = SECTIONS[name]
    if numbers is None:
        raise RvsimError(
            f"lacks the table [{name}] with {', '.join(entries(section))}",
            hint="add it, or extend a core that has it",
        )
    values = read_values(name, section, {k: n["value"] for k, n in numbers.items()})
    require_all(name, section, values)
    return section(**values)
