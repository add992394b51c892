"""Reasons for cycles: every cycle of a run is charged to one reason, by its index."""

from __future__ import annotations

from typing import Final

from rvsim.insn.units import Unit

_GENERAL: Final = (
    "issue",  # instructions issued as fast as the width allows
    "pair",  # an instruction could not issue together with the one before it
    "fetch",  # instruction cache miss
    "branch",  # misprediction
    "vsetvl",  # a new vtype or vl not yet in force
    "store",  # stores not yet written
    "war",  # a load waits for earlier readers of its destination
    "drain",  # a CSR access, fence or system call waits for everything under way
    "mem:l2",  # data that missed L1
    "mem:dram",  # data that missed L2
    "unit:lsu",
    "unit:vector",
    "unit:mul",
    "unit:fp",
)

REASONS: Final = (*_GENERAL, *(f"raw:{unit}" for unit in Unit))
"""Names in the order of their indices; ``raw:<class>`` is a wait for a result of that class."""

_INDEX: Final = {name: i for i, name in enumerate(REASONS)}


def reason(name: str) -> int:
    """The index of a reason.

    >>> reason("issue"), REASONS[reason("raw:vmul")]
    (0, 'raw:vmul')
    """
    return _INDEX[name]


def raw(unit: Unit) -> int:
    """The reason for a wait for a result of that class."""
    return _INDEX[f"raw:{unit}"]


ISSUE: Final = reason("issue")
PAIR: Final = reason("pair")
FETCH: Final = reason("fetch")
BRANCH: Final = reason("branch")
VSETVL: Final = reason("vsetvl")
STORE: Final = reason("store")
WAR: Final = reason("war")
DRAIN: Final = reason("drain")
MEM_L2: Final = reason("mem:l2")
MEM_DRAM: Final = reason("mem:dram")
UNIT_LSU: Final = reason("unit:lsu")
UNIT_VECTOR: Final = reason("unit:vector")
UNIT_OF: Final = {"mul": reason("unit:mul"), "fp": reason("unit:fp")}
