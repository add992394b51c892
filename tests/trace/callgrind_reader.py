"""Reads a profile by the grammar in Valgrind's manual: what is not in it is refused."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

Costs = Counter[str]

_HEADER = re.compile(r"(version|creator|cmd|positions|event|events|summary): (.*)")
_POSITION = re.compile(r"(ob|fl|fi|fe|fn|cob|cfi|cfn)=(?!\(\d)(.*)")
_CALLS = re.compile(r"calls=(\d+) 0x([0-9a-f]+) (\d+)")
_COSTS = re.compile(r"0x([0-9a-f]+) (\d+)((?: \d+)*)")


class Place(NamedTuple):
    """A function, as readers tell functions apart."""

    name: str
    file: str
    object: str


class Call(NamedTuple):
    caller: Place
    site: int
    callee: Place
    target: int


@dataclass
class Profile:
    """What a file says; `lines` are those of places, as (file, line)."""

    events: list[str]
    summary: Costs
    own: dict[tuple[Place, int], Costs] = field(default_factory=dict)
    lines: dict[int, tuple[str, int]] = field(default_factory=dict)
    calls: dict[Call, Costs] = field(default_factory=dict)
    counts: dict[Call, int] = field(default_factory=dict)

    @property
    def functions(self) -> set[Place]:
        callees = {call.callee for call in self.calls}
        return {place for place, _ in self.own} | callees

    def own_of(self, name: str) -> Costs:
        """What the places of a function cost."""
        return _sum(costs for (place, _), costs in self.own.items() if place.name == name)

    def passed_on_by(self, name: str) -> Costs:
        """What the calls of a function cost."""
        return _sum(costs for call, costs in self.calls.items() if call.caller.name == name)

    def inclusive_of(self, name: str) -> Costs:
        """What the calls to a function cost."""
        return _sum(costs for call, costs in self.calls.items() if call.callee.name == name)

    def steps(self) -> dict[tuple[str, str], tuple[int, int]]:
        """How often one function called another, and the cycles of that."""
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for call, costs in self.calls.items():
            pair = call.caller.name, call.callee.name
            count, cycles = found.get(pair, (0, 0))
            found[pair] = count + self.counts[call], cycles + costs["Cycles"]
        return found


def _sum(costs: object) -> Costs:
    return sum(costs, Counter())  # type: ignore[call-overload, no-any-return]


def read_callgrind(text: str) -> Profile:
    """The profile in a file of one part; places once, and totals as the parts say."""
    assert text.startswith("# callgrind format\nversion: 1\n")
    assert text.endswith("\n")
    lines = [line for line in text.splitlines()[1:] if line]
    header: dict[str, str] = {}
    while (found := _HEADER.fullmatch(lines[0])) is not None:
        if found[1] != "event":
            assert found[1] not in header
            header[found[1]] = found[2]
        lines.pop(0)
    assert header["positions"] == "instr line"
    events = header["events"].split()
    last = lines.pop()
    assert last == f"totals: {header['summary']}"
    profile = Profile(events, _costs(events, header["summary"]))
    _read_body(profile, lines)
    assert _sum(profile.own.values()) == profile.summary
    return profile


def _costs(events: list[str], text: str) -> Costs:
    return +Counter(dict(zip(events, map(int, text.split()), strict=True)))


def _read_body(profile: Profile, lines: list[str]) -> None:
    at: dict[str, str] = {}
    calls: re.Match[str] | None = None
    for line in lines:
        position, costs = _POSITION.fullmatch(line), _COSTS.fullmatch(line)
        if position is not None:
            assert calls is None, "a line of costs has to follow"
            if position[1] == "fl":
                at["home"] = position[2]
            at["fl" if position[1] in ("fi", "fe") else position[1]] = position[2]
            assert position[1] != "fe" or position[2] == at["home"]
        elif (found := _CALLS.fullmatch(line)) is not None:
            assert calls is None, "a line of costs has to follow"
            calls = found
        else:
            assert costs is not None, f"no line of the format: {line!r}"
            function = Place(at["fn"], at["home"], at["ob"])
            pc, found_costs = int(costs[1], 16), _costs(profile.events, costs[3])
            if calls is None:
                assert (function, pc) not in profile.own
                profile.own[function, pc] = found_costs
                profile.lines[pc] = at["fl"], int(costs[2])
            else:
                callee = Place(at.pop("cfn"), at.pop("cfi", at["fl"]), at.pop("cob", at["ob"]))
                call = Call(function, pc, callee, int(calls[2], 16))
                assert call not in profile.calls
                profile.calls[call], profile.counts[call] = found_costs, int(calls[1])
                calls = None
    assert calls is None
