"""Linux as an environment: one process, its system calls, signals and timers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rvsim.guest.elf import Image
from rvsim.guest.linux import (
    BlockedForEver,
    CacheFacts,
    Cpu,
    LinuxKernel,
    LinuxProcess,
    ProcessExit,
    hwcap,
    hwprobe,
)
from rvsim.guest.linux.deadline import CutShort
from rvsim.hart.initial import Initial
from rvsim.hart.traps import Cause, Trap
from rvsim.machine.environment import LIMIT_REACHED, Ending, Environment
from rvsim.machine.hart import Hart
from rvsim.profiles import profile

if TYPE_CHECKING:
    from rvsim.cost import Core, CostModel

BLOCKED_FOR_EVER: Final = 128 + 9
"""Exit code of a program that waits for what can't happen: one that hangs is killed."""

_BETWEEN_TIMERS: Final = 1 << 14
"""With a cost model, instructions from one look at the program's timers to the next."""

_SECOND: Final = 1_000_000_000

_NO_WAY_OUT: Final = (
    "it has made no system call: a bare-metal image ends by a store to its symbol tohost,"
    " and this file has no such symbol"
)


class LinuxEnvironment(Environment):
    """Runs a process."""

    process: LinuxProcess

    def __init__(self, kernel: LinuxKernel) -> None:
        self.kernel = kernel
        self.process = kernel.process

    @staticmethod
    def of(
        hart: Hart,
        image: Image,
        *,
        strace: Callable[[str], object] | None = None,
        **given: Any,
    ) -> LinuxEnvironment:
        """A process that runs an image on a hart; `given` is for `LinuxProcess`."""
        options, config = hart.options, hart.config
        cpu, rates = profile(options.cpu), config.rates
        facts, counters = cpu.linux, _counters(hart)
        process = LinuxProcess(
            hart.memory,
            image,
            hwcap=hwcap(config.extensions),
            probe=hwprobe(config, facts=facts, memory_size=hart.memory.size),
            cpu=Cpu(
                config.extensions,
                facts,
                config.vlenb,
                rates,
                partial(_caches, cpu.core if hart.cost is None else hart.cost.core),
            ),
            now_ns=lambda: counters["cycles"]() * _SECOND // rates.frequency,
            counters=counters,
            user_counters=config.user_counters == "allow",
            syscall_vector=options.syscall_vector,
            initial=Initial.parse(options.initial),
            **given,
        )
        return LinuxEnvironment(LinuxKernel(process, strace))

    def start(self, hart: Hart) -> None:
        self.process.start(hart.state)

    def begin(self, deadline: float | None) -> None:
        self.process.deadline.at = deadline

    def trapped(self, hart: Hart, trap: Trap) -> Ending | None:
        if trap.cause == Cause.ENVIRONMENT_CALL_FROM_U_MODE:
            return self._system_call(hart, trap)
        handled = self.kernel.fault(trap.cause, trap.tval, hart.state)
        return None if handled else Ending.killed(trap)

    def _system_call(self, hart: Hart, trap: Trap) -> Ending | None:
        """An ending if the call ends the program, or the run: the hart then stays at the call."""
        state = hart.state
        state["pc"] = trap.pc + 4
        try:
            self.kernel.syscall(state)
        except ProcessExit as ended:
            state["pc"] = trap.pc
            return Ending("exit", ended.code)
        except BlockedForEver as blocked:
            state["pc"] = trap.pc
            return _blocked(trap.pc, blocked)
        except CutShort:
            state["pc"] = trap.pc
            return Ending("timeout", LIMIT_REACHED)
        except KeyboardInterrupt:
            state["pc"] = trap.pc
            raise
        return None

    def pause(self, hart: Hart) -> tuple[int | None, float | None]:
        """Up to when a timer of the program may have to interrupt it."""
        cycles, moment = self.kernel.run_limit()
        if cycles is not None and hart.cost is not None:
            cycles = _BETWEEN_TIMERS - hart.state["instret"] % _BETWEEN_TIMERS
        return cycles, moment

    def between(self, hart: Hart) -> Ending | None:
        """Timers may interrupt at the same places, however the run is cut into parts."""
        if hart.cost is not None and hart.state["instret"] % _BETWEEN_TIMERS:
            return None
        try:
            self.kernel.interrupt(hart.state)
        except ProcessExit as ended:
            return Ending("exit", ended.code)
        except BlockedForEver as blocked:
            return _blocked(hart.state["pc"], blocked)
        return None

    def no_way_out(self) -> str | None:
        return None if self.kernel.has_called else _NO_WAY_OUT


def _blocked(pc: int, blocked: BlockedForEver) -> Ending:
    trap = Trap(Cause.ENVIRONMENT_CALL_FROM_U_MODE, pc, 0, blocked.why)
    return Ending("trap", BLOCKED_FOR_EVER, trap)


def _counters(hart: Hart) -> dict[str, Callable[[], int]]:
    """What the process can count: without a cost model, cycles are instructions."""
    state, cost = hart.state, hart.cost

    def instructions() -> int:
        return state["instret"]

    if cost is None:
        return {"instructions": instructions, "cycles": instructions}
    return {"instructions": instructions, **_timed_counters(cost)}


def _timed_counters(cost: CostModel) -> dict[str, Callable[[], int]]:
    return {"cycles": lambda: cost.cycle, "branch-misses": lambda: cost.mispredictions}


def _caches(core: str | Core) -> list[CacheFacts]:
    """The caches of a hart, as ``/sys`` numbers them; none if the core is not known."""
    if not core:
        return []
    from rvsim.cost import load_core

    found = load_core(core) if isinstance(core, str) else core
    l1i, l1d, l2 = found.l1i, found.l1d, found.l2
    return [
        CacheFacts(1, "Instruction", l1i.size, l1i.ways, l1i.line),
        CacheFacts(1, "Data", l1d.size, l1d.ways, l1d.line),
        CacheFacts(2, "Unified", l2.size, l2.ways, l1d.line),
    ]
