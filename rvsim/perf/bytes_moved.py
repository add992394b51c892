"""Bytes that instructions load and store, computed from their executions and vl."""

from __future__ import annotations

from rvsim.cost.facts import Facts
from rvsim.perf.site import Site


def bytes_of(site: Site) -> int:
    """The bytes that all executions of an instruction loaded or stored.

    Masks do not matter: elements within vl count, active or not.  An atomic counts once.

    >>> from rvsim.insn.decode import decode
    >>> bytes_of(Site(decode(0x02008057, 4)))
    0
    """
    facts = site.facts
    if facts is None or not facts.is_memory:
        return 0
    if not facts.unit.is_vector:
        return site.executions * facts.scalar_access[1] // 8
    return _vector_bits(site, facts) // 8


def _vector_bits(site: Site, facts: Facts) -> int:
    match facts.style:
        case "whole":
            return site.executions * facts.operands[0].nregs * facts.context.config.vlen
        case "mask":
            return site.vl_sum
        case _:
            return site.vl_sum * facts.situation.nf * facts.situation.sew
