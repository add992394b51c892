"""Reads commit logs in Spike's format, and finds the first difference between two of them."""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from itertools import chain, islice
from typing import Final

from rvsim.errors import RvsimError

_COMMIT: Final = re.compile(
    r"core +\d+: \d 0x([0-9a-f]+) \(0x([0-9a-f]+)\)((?: e\d+ mf?\d+ l\d+)?)(.*)"
)
_EFFECT: Final = re.compile(r" +(mem|[xfv]\d+|c\d+_\w+) +0x([0-9a-f]+)(?: 0x([0-9a-f]+))?")
_SEARCHED: Final = 10_000
"""Lines by which one log may begin earlier than the other: Spike's begins in its boot ROM."""

_ALWAYS_LISTED: Final = ("x", "f", "mem")
_CONTEXT: Final = 3


@dataclass(frozen=True, slots=True)
class Commit:
    """One line: an instruction, and its effects by register or memory address."""

    text: str
    pc: int
    word: int
    vector: str = ""
    effects: dict[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogComparison:
    """How many instructions agree, and the first lines that differ (None if a log has ended).

    `differences` says what differs; it is empty if both logs end together.
    """

    agreed: int
    a: Commit | None
    b: Commit | None
    differences: tuple[str, ...]
    before: tuple[Commit, ...]


def parse_commit(line: str) -> Commit | None:
    """The commit in a line; None if the line is no commit.

    >>> parse_commit("core   0: 0 0x0000000000010094 (0x0505) x10 0x0000000000000006").effects
    {'x10': 6}
    """
    match = _COMMIT.fullmatch(line)
    if match is None:
        return None
    effects: dict[str, int | None] = {}
    for name, value, stored in _EFFECT.findall(match[4]):
        if name == "mem":
            effects[f"mem {int(value, 16):#x}"] = int(stored, 16) if stored else None
        else:
            effects[name] = int(value, 16)
    return Commit(line, int(match[1], 16), int(match[2], 16), match[3].strip(), effects)


def read_log(file: BufferedReader) -> Iterator[Commit]:
    """The commits of a log, without Spike's other lines, such as those on traps."""
    with io.TextIOWrapper(file, "ascii", "replace") as lines:
        for number, line in enumerate(lines, 1):
            commit = parse_commit(line.rstrip("\n"))
            if commit is not None:
                yield commit
            elif not line.startswith(("core", ">>>")):
                raise RvsimError(
                    f"{file.name}, line {number}: no line of a commit log",
                    hint="rvsim run --trace spike:FILE and spike --log-commits write logs",
                )


def compare_logs(a: Iterator[Commit], b: Iterator[Commit]) -> LogComparison:
    """Compare two logs up to the first difference; one may begin earlier than the other."""
    a, b = _aligned(a, b)
    before: deque[Commit] = deque(maxlen=_CONTEXT)
    agreed = 0
    while True:
        ours, theirs = next(a, None), next(b, None)
        found = _differences(ours, theirs)
        if found or ours is None:
            return LogComparison(agreed, ours, theirs, tuple(found), tuple(before))
        before.append(ours)
        agreed += 1


def _aligned(a: Iterator[Commit], b: Iterator[Commit]) -> tuple[Iterator[Commit], Iterator[Commit]]:
    """Both logs from the same pc on, if one only begins earlier."""
    heads = list(islice(a, _SEARCHED)), list(islice(b, _SEARCHED))
    skips = [0, 0]
    for own, other in ((0, 1), (1, 0)):
        if heads[own] and heads[other]:
            start = heads[other][0].pc
            skip = next((i for i, c in enumerate(heads[own]) if c.pc == start), 0)
            if skip and not any(skips):
                skips[own] = skip
    return chain(heads[0][skips[0] :], a), chain(heads[1][skips[1] :], b)


def _differences(a: Commit | None, b: Commit | None) -> list[str]:
    """The differences between two lines, in words."""
    if a is None or b is None:
        return [] if a is b else [f"{'A' if a is None else 'B'} has ended"]
    if a.pc != b.pc:
        return [_pair("pc", a.pc, b.pc)]
    if a.word != b.word:
        return [_pair("the instruction", a.word, b.word)]
    found = []
    if a.vector and b.vector and a.vector != b.vector:
        found.append(f"vector state is {a.vector} in A and {b.vector} in B")
    for name in dict.fromkeys((*a.effects, *b.effects)):
        if name in a.effects and name in b.effects:
            if a.effects[name] != b.effects[name]:
                found.append(_pair(name, a.effects[name], b.effects[name]))
        elif name.startswith(_ALWAYS_LISTED):
            found.append(f"{name} is written or read in {'A' if name in a.effects else 'B'} only")
    return found


def _pair(name: str, a: int | None, b: int | None) -> str:
    ours, theirs = ("not written" if v is None else f"{v:#x}" for v in (a, b))
    return f"{name} is {ours} in A and {theirs} in B"
