"""One instruction of a program: its executions, and its cycles by reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from rvsim.cost import CostModel
from rvsim.cost.facts import Facts
from rvsim.engine.block import Mode
from rvsim.hart.memory import GuestFault
from rvsim.insn.decode import Decoded
from rvsim.insn.registry import Insn
from rvsim.machine import Machine


@dataclass(slots=True)
class Site:
    """One instruction: executions by mode, sums of vl and VLMAX over them, cycles by reason.

    The cycles are those charged to it, which passed before it issued.  `facts` are its facts in its
    most frequent mode; None if it never completed.
    """

    decoded: Decoded
    modes: Counter[Mode] = field(default_factory=Counter)
    vl_sum: int = 0
    vlmax_sum: int = 0
    stalls: dict[str, float] = field(default_factory=dict)
    facts: Facts | None = None

    @property
    def pc(self) -> int:
        return self.decoded.pc

    @property
    def end(self) -> int:
        return self.decoded.pc + self.decoded.length

    @property
    def insn(self) -> Insn:
        """The definition of an instruction that has run."""
        assert self.decoded.insn is not None, "what has run was an instruction"
        return self.decoded.insn

    @property
    def executions(self) -> int:
        return self.modes.total()

    @property
    def cycles(self) -> float:
        return sum(self.stalls.values())


def sites_of(machine: Machine, cost: CostModel) -> tuple[Site, ...]:
    """Every instruction that ran or was charged cycles, sorted by address."""
    sites: dict[int, Site] = {}
    for d, mode, executions, vl_sum in machine.interp.executions():
        if d.insn is not None:
            site = sites.setdefault(d.pc, Site(d))
            site.modes[replace(mode, off=0)] += executions
            if d.insn.vector and mode.vtype is not None:
                site.vl_sum += vl_sum
                site.vlmax_sum += executions * mode.vtype.vlmax(machine.config.vlen)
    for pc, stalls in cost.sites():
        if pc not in sites:  # it has only trapped, such as a system call
            sites[pc] = Site(_decoded(machine, pc))
        sites[pc].stalls = stalls
    for site in sites.values():
        if site.modes:
            ((mode, _),) = site.modes.most_common(1)
            site.facts = facts_at(machine, site.decoded, mode)
    return tuple(sites[pc] for pc in sorted(sites))


def _decoded(machine: Machine, pc: int) -> Decoded:
    """The instruction at `pc` now; an unknown one if the program has unmapped the page."""
    try:
        return machine.interp.decode_at(pc)
    except GuestFault:
        return Decoded(pc, 0, 2, None, {})


def facts_at(machine: Machine, d: Decoded, mode: Mode) -> Facts:
    """The facts of an instruction in a mode, for the cost model."""
    assert d.insn is not None
    context = machine.interp.binder.context(d.insn, d.fields, mode)
    return Facts(context, machine.interp.binder.program(d.insn, d.fields, mode))
