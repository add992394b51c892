"""A user's own numbers for a core: ``l1d.size=64K``, or a TOML file with the tables that differ."""

from __future__ import annotations

import copy
import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from rvsim.errors import RvsimError

_SIZES: Final = {"": 1, "K": 1 << 10, "M": 1 << 20}
_ABOUT: Final = frozenset({"source", "confidence"})


def apply(raw: dict[str, Any], override: str) -> None:
    """Change a core's tables; RvsimError names a number that there is not."""
    if override.endswith(".toml"):
        for dotted, value in _file_values(Path(override)):
            _set(raw, dotted, value, override)
        return
    dotted, equals, text = override.partition("=")
    if not equals:
        raise RvsimError(f"{override!r} sets nothing", hint="write l1d.size=64K, or a .toml file")
    _set(raw, dotted.strip(), _value(dotted, text.strip()), override)


def _file_values(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise RvsimError(f"can't read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RvsimError(f"{path} is no TOML file: {error}") from error
    for dotted, (parent, key) in leaves(table, ()).items():
        value = parent[key]
        yield dotted, value["value"] if isinstance(value, dict) else value


def _value(dotted: str, text: str) -> int | float:
    match = re.fullmatch(r"(-?[0-9]+)([KM]?)", text)
    if match:
        return int(match[1]) * _SIZES[match[2]]
    try:
        return float(text)
    except ValueError:
        raise RvsimError(f"{dotted} = {text!r} is not a number", hint="sizes: 64K, 1M") from None


def leaves(table: dict[str, Any], prefix: tuple[str, ...]) -> dict[str, tuple[dict[str, Any], str]]:
    """Every number by its dotted name, as the table that holds it and its key there."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for key, value in table.items():
        if isinstance(value, dict) and "value" not in value:
            found |= leaves(value, (*prefix, key))
        elif isinstance(value, int | float | dict) and key not in _ABOUT:
            found[".".join((*prefix, key))] = (table, key)
    return found


def _set(raw: dict[str, Any], dotted: str, value: Any, override: str) -> None:
    known = leaves(raw, ())
    if dotted not in known:
        raise RvsimError(f"unknown number {dotted!r} of a core", hint=did_you_mean(dotted, known))
    parent, key = known[dotted]
    about = {"source": override, "confidence": "guessed"}
    parent[key] = {"value": value, **about} if isinstance(parent[key], dict) else copy.copy(value)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not known."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(known))}"
