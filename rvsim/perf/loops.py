"""Natural loops in the code that ran, found from its branches and jumps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from rvsim.insn.units import Unit
from rvsim.perf.groups import added
from rvsim.perf.profile import Profile
from rvsim.perf.site import Site


@dataclass(frozen=True)
class Loop:
    """A loop that ran: its instructions, from the first one of an iteration.

    The instructions of inner loops are included, the functions that the loop calls are not.
    `iterations` is how often the first instruction ran.
    """

    sites: tuple[Site, ...]
    is_innermost: bool = True

    @property
    def head(self) -> int:
        """The address of the first instruction of an iteration."""
        return self.sites[0].pc

    @property
    def start(self) -> int:
        """The lowest address of an instruction."""
        return min(site.pc for site in self.sites)

    @property
    def end(self) -> int:
        """The address after the last instruction."""
        return max(site.end for site in self.sites)

    @cached_property
    def pcs(self) -> frozenset[int]:
        """The addresses of its instructions."""
        return frozenset(site.pc for site in self.sites)

    @property
    def iterations(self) -> int:
        return self.sites[0].executions

    @cached_property
    def stalls(self) -> dict[str, float]:
        """Cycles by reason, summed over all iterations."""
        total: dict[str, float] = {}
        for site in self.sites:
            total = added(total, site.stalls)
        return total

    @property
    def cycles(self) -> float:
        """Cycles per iteration."""
        return sum(self.stalls.values()) / self.iterations


def find_loops(found: Profile) -> list[Loop]:
    """The loops in the profile of a whole run, sorted by address, outer loops before inner ones.

    >>> from rvsim.machine import Machine
    >>> from rvsim.perf import find_region, profile
    >>> from rvsim.toolchain import build_kernel
    >>> machine = Machine(cost="x60", statistics=True)
    >>> machine.load(build_kernel("gemm_tile_s8"))
    >>> _ = machine.run()
    >>> reference = find_region("gemm_scalar", machine.image.symbols)
    >>> [loop.is_innermost for loop in find_loops(profile(machine)) if loop.head in reference]
    [False, False, True]
    """
    flow = _ControlFlow(found)
    bodies: dict[int, set[int]] = {}
    for last, head in flow.steps_back():
        body = flow.body(last, head) if flow.may_be_taken(last, head) else None
        if body is not None:
            bodies[head] = bodies.get(head, set()) | body
    loops = []
    for head, body in bodies.items():
        inner = any(other != head and other in body for other in bodies)
        order = sorted(body, key=lambda pc: (pc < head, pc))
        loops.append(Loop(tuple(flow.sites[pc] for pc in order), not inner))
    return sorted(loops, key=lambda loop: (loop.start, -loop.end))


class _ControlFlow:
    """The successors of each instruction in its function.  A call continues after itself."""

    def __init__(self, found: Profile) -> None:
        self.sites = {site.pc: site for site in found.sites if site.executions}
        self._image = found.image
        self._after = {
            pc: [n for n in self._next(site) if n in self.sites] for pc, site in self.sites.items()
        }
        self._before: dict[int, list[int]] = {pc: [] for pc in self.sites}
        for pc, following in self._after.items():
            for n in following:
                self._before[n].append(pc)

    def _next(self, site: Site) -> Iterator[int]:
        target = self._target(site)
        if target is not None:
            yield target
        if site.insn.unit is not Unit.JUMP or _links(site):
            yield site.end

    def _target(self, site: Site) -> int | None:
        """The target of a branch or jump; None for a call, a tail call or an unknown target."""
        insn = site.insn
        if not insn.unit.is_jump or "target" not in insn.syntax:
            return None
        target = site.pc + site.decoded.fields["imm"]
        if insn.unit is Unit.JUMP and (_links(site) or self._is_elsewhere(target, site.pc)):
            return None
        return target

    def _is_elsewhere(self, target: int, pc: int) -> bool:
        """Whether a jump is a tail call: its target is the start of another function."""
        there = self._function(target)
        return there is not None and there[1] == 0 and there[0] != (self._function(pc) or there)[0]

    def _function(self, pc: int) -> tuple[str, int] | None:
        return self._image.symbols.lookup(pc) if self._image is not None else None

    def steps_back(self) -> Iterator[tuple[int, int]]:
        """The steps (from, to) that may close a loop.

        A loop's head is also entered from outside: another step leads to it, or a function
        starts there.
        """
        for head, before in self._before.items():
            if len(before) > 1 or self._begins(head):
                yield from ((pc, head) for pc in before)

    def may_be_taken(self, pc: int, head: int) -> bool:
        """Whether the execution counts allow that this step was ever taken.

        An instruction with one predecessor was always reached from it, and an instruction with
        one successor always continued there.  If such neighbours account for all executions of
        `pc` or of `head`, no execution is left for this step.
        """
        left = [n for n in self._after[pc] if n != head and self._before[n] == [pc]]
        came = [n for n in self._before[head] if n != pc and self._after[n] == [head]]
        return self._count(left) < self._count([pc]) and self._count(came) < self._count([head])

    def _count(self, pcs: list[int]) -> int:
        return sum(self.sites[pc].executions for pc in pcs)

    def body(self, last: int, head: int) -> set[int] | None:
        """The instructions on the paths from `head` to `last`; None if they form no loop.

        They form a loop if every path from the start of a function to `last` passes `head`.
        Any other instruction without a predecessor is the target of a jump through a register.
        """
        body, waiting, from_head = {head}, [last], False
        while waiting:
            pc = waiting.pop()
            from_head |= pc == head
            if pc not in body:
                body.add(pc)
                if not self._before[pc] and self._begins(pc):
                    return None
                waiting += self._before[pc]
        return body if from_head else None

    def _begins(self, pc: int) -> bool:
        function = self._function(pc)
        return function is None or function[1] == 0


def _links(site: Site) -> bool:
    """Whether a jump is a call: it writes its return address to a register."""
    dest = site.insn.source("rd")
    return bool(dest if isinstance(dest, int) else site.decoded.fields.get(dest, 0))
