"""The files of cores: `isa/cores/<name>.toml`, or a user's own, and the cores that they extend.

What a file says is checked in `rvsim.cost.core_tables`; here it is found and read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from rvsim.config import ClockRates
from rvsim.errors import RvsimError, did_you_mean
from rvsim.host.package_data import data_path
from rvsim.host.regular_file import read_regular

SUFFIX: Final = ".toml"

_LARGEST: Final = 1 << 20
_MOST_EXTENDED: Final = 8
_TEMPLATE: Final = "template"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_FIRST_CLASS: Final = "\n[scalar."


@dataclass(frozen=True, slots=True)
class CoreFile:
    """One file as it is: `name` is the core's, or the path that the user gave."""

    name: str
    tables: Mapping[str, Any]


def core_names() -> list[str]:
    """Cores that come with rvsim.

    >>> core_names()
    ['x60']
    """
    return sorted(path.stem for path in _folder().glob(f"*{SUFFIX}") if path.stem != _TEMPLATE)


def read_core(name: str) -> tuple[CoreFile, ...]:
    """The files of a core: those that it extends first, its own last.

    A name that ends in ``.toml`` is the path of a file.  Raises RvsimError for an unknown core, a
    file that can't be read, and cores that extend each other.
    """
    found: list[CoreFile] = []
    path: Path | None = _path_of(name)
    seen: list[Path] = []
    while path is not None:
        tables = read_toml(path)
        found.insert(0, CoreFile(path.stem if _is_ours(path) else str(path), tables))
        seen.append(path)
        path = _extended(path, tables, seen)
    return tuple(found)


def _path_of(name: str) -> Path:
    if name.endswith(SUFFIX):
        return Path(name)
    if name not in core_names():
        raise RvsimError(f"unknown core {name!r}", hint=did_you_mean(name, core_names()))
    return _folder() / f"{name}{SUFFIX}"


def _extended(path: Path, tables: Mapping[str, Any], seen: list[Path]) -> Path | None:
    """The file that this one extends: a core of rvsim, or else one of this name beside it."""
    if "extends" not in tables:
        return None
    name = tables["extends"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RvsimError(f"{path}: extends is not the name of a core", hint='as in extends = "x60"')
    beside = path.with_name(f"{name}{SUFFIX}")
    found = _folder() / f"{name}{SUFFIX}" if name in core_names() else beside
    if not found.exists():
        known = {*core_names(), *(p.stem for p in path.parent.glob(f"*{SUFFIX}"))}
        hint = did_you_mean(name, known)
        raise RvsimError(f"{path}: extends = {name!r}: there is no such core", hint=hint)
    if any(found.samefile(other) for other in seen) or len(seen) >= _MOST_EXTENDED:
        way = " extends ".join(p.stem for p in (*seen, found))
        raise RvsimError(f"{path}: {way}: that has no end")
    return found


def read_toml(path: Path) -> Mapping[str, Any]:
    """The tables of a TOML file; RvsimError if it can't be read or is none."""
    return _parsed(path, _text(path))


def _text(path: Path) -> str:
    try:
        return read_regular(path, _LARGEST).decode("utf-8")
    except OSError as error:
        raise RvsimError(f"can't read {path}: {error.strerror}") from error
    except ValueError as error:  # a NUL in the name, or no UTF-8
        raise RvsimError(f"{path} is no TOML file: {error}") from error


def _parsed(path: Path, text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise RvsimError(f"{path} is no TOML file of a core: it is nested too deeply") from None
    except ValueError as error:
        raise RvsimError(f"{path} is no TOML file: {error}") from error


@cache
def clock_of(name: str) -> ClockRates:
    """The clock of a core that comes with rvsim.

    They stand before the classes of instructions, most of the file, which need not be read.

    >>> clock_of("x60")
    ClockRates(frequency=1600000000, timer=24000000)
    """
    path = _path_of(name)
    head, _, _ = _text(path).partition(_FIRST_CLASS)
    tables = _parsed(path, head)
    found = tables.get("clock", {})
    if {"frequency", "timer"} <= found.keys():
        return ClockRates(_plain(found["frequency"]), _plain(found["timer"]))
    if "extends" in tables:
        return clock_of(tables["extends"])
    raise RvsimError(f"{path} has no [clock] before its classes")


def _plain(number: Any) -> int:
    value = number["value"] if isinstance(number, Mapping) else number
    assert isinstance(value, int), "a test loads every core that comes with rvsim"
    return value


def _folder() -> Path:
    return data_path("isa") / "cores"


def _is_ours(path: Path) -> bool:
    return path.parent == _folder()
