"""A user's own numbers for a core: ``l1d.size=64K``, or a TOML file with the tables that differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rvsim.core_files import SUFFIX, read_toml
from rvsim.cost.schema import ABOUT, shown
from rvsim.errors import RvsimError, did_you_mean

_SIZES: Final = {"": 1, "K": 1 << 10, "M": 1 << 20}
_FOREIGN: Final = ("name", "description", "extends")


def apply(tables: dict[str, dict[str, Any]], override: str) -> None:
    """Change a core's tables; RvsimError names an unknown number."""
    if override.endswith(SUFFIX):
        for dotted, value in _file_values(Path(override)):
            _set(tables, dotted, value, override)
        return
    dotted, equals, text = override.partition("=")
    if not equals:
        raise RvsimError(f"{override!r} sets nothing", hint="write l1d.size=64K, or a .toml file")
    _set(tables, dotted.strip(), _value(dotted, text.strip()), override)


def _file_values(path: Path) -> Iterator[tuple[str, Any]]:
    table = read_toml(path)
    for name in _FOREIGN:
        if name in table:
            raise RvsimError(f"{path} has {name!r}: it is a core", hint=f"give --core {path}")
    yield from _values(path, table, ())


def _values(
    path: Path, table: Mapping[str, Any], prefix: tuple[str, ...]
) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        dotted = ".".join((*prefix, key))
        if prefix and key in ABOUT:
            continue
        if isinstance(value, Mapping) and "value" not in value:
            yield from _values(path, value, (*prefix, key))
        elif isinstance(value, Mapping):
            yield dotted, value["value"]
        elif isinstance(value, int | float):
            yield dotted, value
        else:
            raise RvsimError(
                f"{path}: {dotted} = {shown(value)} is no number",
                hint="whole classes are changed by a core that extends this one, see --core",
            )


def _value(dotted: str, text: str) -> int | float:
    match = re.fullmatch(r"(-?[0-9]{1,20})([KM]?)", text)
    if match:
        return int(match[1]) * _SIZES[match[2]]
    try:
        return float(text)
    except ValueError:
        raise RvsimError(f"{dotted} = {text!r} is not a number", hint="sizes: 64K, 1M") from None


def leaves(table: dict[str, Any], prefix: tuple[str, ...]) -> dict[str, tuple[dict[str, Any], str]]:
    """For the dotted name of every number, the table that holds it and its key there."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for key, value in table.items():
        if isinstance(value, dict) and "value" not in value:
            found |= leaves(value, (*prefix, key))
        elif isinstance(value, int | float | dict) and key not in ABOUT:
            found[".".join((*prefix, key))] = (table, key)
    return found


def _set(tables: dict[str, Any], dotted: str, value: Any, override: str) -> None:
    known = leaves(tables, ())
    if dotted not in known:
        raise RvsimError(f"unknown number {dotted!r} of a core", hint=did_you_mean(dotted, known))
    parent, key = known[dotted]
    about = {"source": override, "confidence": "guessed"}
    parent[key] = {"value": value, **about} if isinstance(parent[key], dict) else value
