"""Groups of stall reasons, for a first look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "issue": ("issue",),
    "pairing": ("pair",),
    "dependences": ("raw:", "war"),
    "vector unit": ("unit:vector",),
    "load/store unit": ("unit:lsu", "store"),
    "scalar units": ("unit:mul", "unit:fp"),
    "caches and DRAM": ("mem:",),
    "vsetvl": ("vsetvl",),
    "front end": ("fetch", "branch"),
    "drain": ("drain",),
}
"""Reasons of each group, or prefixes that end with ``:``; only ``issue`` is no stall."""


def group_of(reason: str) -> str:
    """The group of a reason; LookupError for an unknown one.

    >>> group_of("raw:vmul"), group_of("mem:l2"), group_of("unit:lsu")
    ('dependences', 'caches and DRAM', 'load/store unit')
    """
    for group, members in GROUPS.items():
        if any(reason == m or (m.endswith(":") and reason.startswith(m)) for m in members):
            return group
    raise LookupError(f"reason {reason} is in no group")


def grouped(stalls: Mapping[str, float]) -> dict[str, float]:
    """Cycles of the groups that occur, in the order of `GROUPS`.

    >>> grouped({"pair": 1, "issue": 4, "raw:alu": 2, "raw:vmul": 3})
    {'issue': 4.0, 'pairing': 1.0, 'dependences': 5.0}
    """
    totals = dict.fromkeys(GROUPS, 0.0)
    for reason, cycles in stalls.items():
        totals[group_of(reason)] += cycles
    return {group: cycles for group, cycles in totals.items() if cycles}


def added(stalls: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    """The sums of two tables of cycles by reason.

    >>> added({"issue": 1}, {"issue": 2, "pair": 0.5})
    {'issue': 3, 'pair': 0.5}
    """
    total = dict(stalls)
    for reason, cycles in more.items():
        total[reason] = total.get(reason, 0) + cycles
    return total


def main_stall(stalls: Mapping[str, float]) -> tuple[str, float] | None:
    """The reason with most cycles, other than ``issue``; None without stalls.

    >>> main_stall({"issue": 9, "pair": 1, "raw:alu": 2})
    ('raw:alu', 2)
    """
    waits = [(cycles, reason) for reason, cycles in stalls.items() if reason != "issue"]
    if not waits:
        return None
    cycles, reason = max(waits)
    return reason, cycles
