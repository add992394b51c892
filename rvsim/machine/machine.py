"""A machine: memory, one hart, a Linux process or bare metal around it, and the engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal

from rvsim.config import CYCLES_PER_SECOND, MACHINE, Reserved, SyscallVector, UserCounters, VlPolicy
from rvsim.engine.binding import namespace
from rvsim.engine.interp import Interpreter
from rvsim.engine.traffic import counting
from rvsim.errors import RvsimError
from rvsim.guest.attributes import remarks
from rvsim.guest.bare import BareMetal, HostExit
from rvsim.guest.elf import Image, load_elf
from rvsim.guest.linux import (
    BlockedForEver,
    CacheFacts,
    Cpu,
    Grant,
    LinuxProcess,
    ProcessExit,
    Sink,
    hwcap,
    hwprobe,
    signal_number,
)
from rvsim.guest.linux.waiting import CutShort
from rvsim.hart.initial import Initial
from rvsim.hart.memory import ADDRESS_SPACE, Memory
from rvsim.hart.state import State
from rvsim.hart.traps import Cause, Trap
from rvsim.host.dataframes import arrow_table, pandas_frame
from rvsim.host.deferred_signals import InterruptsLater
from rvsim.host.notebook import run_as_html
from rvsim.host.processor import check_host
from rvsim.insn.decode import Decoded
from rvsim.printable import printable
from rvsim.profiles import DEFAULT_CPU, make_config, one_of, profile

if TYPE_CHECKING:
    from rvsim.cost import Core, CostModel
    from rvsim.cost.batch import Batch
    from rvsim.cost.ring import Ring
    from rvsim.cost.rows import KeptRows
    from rvsim.engine.jit.engine import Jit

LIMIT_REACHED: Final = 124
BLOCKED_FOR_EVER: Final = 128 + 9
"""Exit code of a program that waits for what can't happen: one that hangs is killed."""

_NO_LIMIT: Final = 1 << 62
_NOWHERE: Final = -1
ALL_INSNS: Final = range(_NO_LIMIT)
_BETWEEN_TIMERS: Final = 1 << 14
"""With a cost model, instructions from one look at the program's timers to the next."""
_FEW: Final = 200_000
"""Instructions with records that take less time in the interpreter than in being compiled."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended, and the machine's state then.

    `reason` is exit, trap, max_insns or timeout; `exit_code` what a shell would see (128 + signal
    after a trap, 124 when a limit was reached).
    """

    reason: Literal["exit", "trap", "max_insns", "timeout"]
    exit_code: int
    trap: Trap | None
    instret: int
    cycle: int
    stdout: bytes
    stderr: bytes
    machine: Machine

    @property
    def x(self) -> tuple[int, ...]:
        """The 32 integer registers, unsigned."""
        return tuple(self.machine.state.x)

    @property
    def v(self) -> tuple[bytes, ...]:
        """The 32 vector registers as bytes."""
        return tuple(row.tobytes() for row in self.machine.state.v)

    def trace(self, form: Literal["numpy", "pandas", "pyarrow"] = "numpy") -> Any:
        """A row for each instruction that was traced: pc, times, waits and why, memory, vl, vtype.

        It is a NumPy structured array of `rvsim.cost.rows.ROW_DTYPE`, or a table of pandas or
        pyarrow.  Times are in cycles.  The rows are those of the machine from its start until now,
        also if it has run several times.

        >>> from rvsim.toolchain import build_kernel
        >>> machine = Machine(cost="x60", trace=range(1000, 2000))
        >>> machine.load(build_kernel("gemm_tile_s8"))
        >>> rows = machine.run(max_insns=3000).trace()
        >>> len(rows), int(rows["instret"][0]), rows.dtype.names[:3]
        (1000, 1000, ('instret', 'pc', 'word'))
        """
        if self.machine.rows is None:
            hint = 'make the machine with cost="x60" and trace=True'
            raise RvsimError("nothing was traced", hint=hint)
        rows = self.machine.rows.table()
        match form:
            case "numpy":
                return rows
            case "pandas":
                return pandas_frame("trace('pandas')", rows)
            case "pyarrow":
                return arrow_table("trace('pyarrow')", rows)
        raise RvsimError(f"there is no form {form!r}", hint="choose numpy, pandas or pyarrow")

    def _repr_html_(self) -> str:
        """In a notebook; what the cycles were spent on, unless the machine has run on since."""
        machine, totals = self.machine, {"instructions": f"{self.instret:,}"}
        stalls: dict[str, float] = {}
        if machine.cost is not None:
            totals["cycles"] = f"{self.cycle:,}"
            totals["instructions a cycle"] = f"{self.instret / max(self.cycle, 1):.2f}"
            if machine.state["instret"] == self.instret:
                stalls = machine.cost.stalls
        name = printable(machine.image.name) if machine.image is not None else ""
        return run_as_html(f"{name}: {self._ending()}", totals, stalls, self.stdout)

    def _ending(self) -> str:
        if self.trap is not None:
            return f"{self.trap.why} at {self.machine.place(self.trap.pc)}"
        return f"exit {self.exit_code}" if self.reason == "exit" else f"limit {self.reason} reached"


def _is_past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def _kept_rows(trace: bool | range) -> KeptRows:
    from rvsim.cost.rows import KeptRows

    if trace is True:
        return KeptRows()
    if not isinstance(trace, range):
        hint = "give True, or a range of instructions"
        raise RvsimError(f"there is no trace={trace!r}", hint=hint)
    if trace.step != 1:
        raise RvsimError(f"trace={trace} leaves instructions out", hint="give a range of step 1")
    return KeptRows(trace)


def _both(
    first: Callable[[Batch], object], second: Callable[[Batch], object] | None
) -> Callable[[Batch], object]:
    def listener(batch: Batch) -> None:
        first(batch)
        if second is not None:
            second(batch)

    return listener


def _new_jit(
    interp: Interpreter, *, cache: bool, counts: bool, host: str, note: Callable[[str], object]
) -> Jit:
    from rvsim.engine.jit.cache import cache_folder
    from rvsim.engine.jit.engine import Jit

    folder = cache_folder() if cache else None
    return Jit(interp, cache=folder, counts=counts, host=host, note=note)


def _cost_model(core: str | Core) -> CostModel:
    from rvsim.cost import CostModel, load_core

    return CostModel(load_core(core) if isinstance(core, str) else core)


def _caches(core: str) -> list[CacheFacts]:
    """The caches of a hart, as ``/sys`` numbers them; none if the core is not known."""
    if not core:
        return []
    from rvsim.cost import load_core

    found = load_core(core)
    l1i, l1d, l2 = found.l1i, found.l1d, found.l2
    return [
        CacheFacts(1, "Instruction", l1i.size, l1i.ways, l1i.line),
        CacheFacts(1, "Data", l1d.size, l1d.ways, l1d.line),
        CacheFacts(2, "Unified", l2.size, l2.ways, l1d.line),
    ]


def _counters(state: State, cost: CostModel | None) -> dict[str, Callable[[], int]]:
    """What the process can count: without a cost model, cycles are instructions."""

    def instructions() -> int:
        return state["instret"]

    if cost is None:
        return {"instructions": instructions, "cycles": instructions}
    return {
        "instructions": instructions,
        "cycles": lambda: cost.cycle,
        "branch-misses": lambda: cost.mispredictions,
    }


class Machine:
    """One hart and its memory; `cost` names a core, or is one, whose cycles are counted.

    The engine jit compiles for the `host` of `rvsim.host.processor`, by default that of RVSIM_HOST,
    else this processor.  With `cache` it keeps what it compiles for the next run, in the user's
    cache folder.
    With `statistics`, both engines count what they execute, and the bytes that it moves.  `timed`
    gets the times of the instructions that execute, in batches, all or a range of their numbers:
    what is outside runs as fast as without.  With `trace` they are kept for `RunResult.trace`.
    Compiled code knows no other listeners: with `names` or `retired`, nothing is compiled.

    Policies stand for what a right program does not depend on: `agnostic` elements, `vl_policy`,
    `reduction_order`, and the `initial` contents of registers and unused stack.  `reserved` uses,
    `user_counters` and `syscall_vector` are by default as on a K1 with Linux 6.6, or stricter; but
    counters can be read, with a note.

    >>> from rvsim.toolchain import build_kernel
    >>> machine = Machine(vlen=256)
    >>> machine.load(build_kernel("gemm_tile_s8"))
    >>> result = machine.run(max_insns=10_000_000)
    >>> result.exit_code, result.stdout.splitlines()[-1].startswith(b"PASS")
    (0, True)
    """

    def __init__(
        self,
        cpu: str = DEFAULT_CPU,
        *,
        isa: str | None = None,
        vlen: int | None = None,
        agnostic: str = "undisturbed",
        vl_policy: VlPolicy = "max",
        reserved: Reserved = "trap",
        user_counters: UserCounters = "allow",
        syscall_vector: SyscallVector = "discard",
        initial: str = "zero",
        reduction_order: str = "sequential",
        host_float: bool = True,
        engine: str = "jit",
        host: str | None = None,
        cache: bool = True,
        memory_size: int = 4 << 30,
        cost: str | Core | None = None,
        note: Callable[[str], object] = lambda text: None,
        statistics: bool = False,
        names: Callable[[Machine], Mapping[str, Any]] | None = None,
        retired: Callable[[Decoded], None] | None = None,
        trapped: Callable[[Trap], None] = lambda trap: None,
        timed: Callable[[Batch], object] | None = None,
        timed_range: range = ALL_INSNS,
        trace: bool | range = False,
    ) -> None:
        self.config = make_config(
            cpu,
            isa=isa,
            vlen=vlen,
            agnostic=agnostic,
            vl_policy=vl_policy,
            reserved=reserved,
            user_counters=user_counters,
            reduction_order=reduction_order,
            host_float=host_float,
        )
        self.host = check_host(host)
        self.syscall_vector: SyscallVector = one_of(
            "syscall vector policy", syscall_vector, ("discard", "keep")
        )
        self._cpu = cpu
        self.memory = Memory(memory_size, space=ADDRESS_SPACE)
        vlen = self.config.vlen
        self.cost = None if cost is None else _cost_model(cost)
        self.rows = None if trace is False else _kept_rows(trace)
        if self.rows is not None:
            timed_range = trace if isinstance(trace, range) and timed is None else ALL_INSNS
            timed = _both(self.rows.batch, timed)
        self.ring: Ring | None = None
        if self.cost is not None:
            self.state = self.cost.make_state(vlen, records=timed is not None)
            if timed is not None:
                self.ring = self.cost.make_ring(timed, max(0, timed_range.start))
        elif timed is None:
            self.state = State(vlen)
        else:
            raise RvsimError("there are no times without a cost model", hint='give cost="x60"')
        self.state["vtype"] = 1 << 63
        self.initial = Initial.parse(initial)
        self.initial.fill(self.state)
        self.note = note
        self._noted: set[tuple[int, str]] = set()
        replaced = dict(names(self)) if names is not None else {}
        if statistics:
            accesses = namespace(self.state, self.memory) | replaced
            replaced |= counting(accesses, self.state)
        self.interp = Interpreter(
            self.config,
            self.state,
            self.memory,
            note=self._note_place,
            names=replaced,
            retired=retired,
            trapped=self._trapped,
            cost=self.cost,
        )
        if engine not in ("numpy", "jit"):
            raise RvsimError(f"unknown engine {engine!r}", hint="choose numpy or jit")
        self._jit: Callable[[], Jit | None] = lambda: None
        if engine == "jit" and names is None and retired is None:
            self._jit = partial(
                _new_jit,
                self.interp,
                cache=cache,
                counts=statistics,
                host=self.host,
                note=self._note_once,
            )
        self._timed_insns = timed_range.stop - timed_range.start
        turns = [(timed_range.start, self.ring), (timed_range.stop, None)]
        self._turns = [turn for turn in turns if turn[0] > 0]
        """From which instruction on records are made, and none any more."""
        self._begin_anew(self.ring if timed_range.start <= 0 < timed_range.stop else None)
        self._interrupts = InterruptsLater(self._stop_soon)
        self._listener = trapped
        self.image: Image | None = None
        self.process: LinuxProcess | None = None
        self.bare: BareMetal | None = None
        self._captured: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}

    def _stop_soon(self) -> None:
        self.interp.interrupted = True

    def _begin_anew(self, ring: Ring | None) -> None:
        """Make records or none from here on, with hot code compiled for that if it pays."""
        few = ring is not None and self._timed_insns < _FEW
        self.interp.begin_anew(ring, None if few else self._jit())

    @property
    def cycle(self) -> int:
        """Cycles so far: of the cost model, or instructions if there is none."""
        return self.state["instret"] if self.cost is None else self.cost.cycle

    def _note_place(self, pc: int, text: str) -> None:
        """Pass on a reserved use once for each place."""
        if (pc, text) not in self._noted:
            self._noted.add((pc, text))
            self.note(f"{self.place(pc)}: {text}")

    def _note_once(self, text: str) -> None:
        """Pass on what is true of no place."""
        if (_NOWHERE, text) not in self._noted:
            self._noted.add((_NOWHERE, text))
            self.note(text)

    def _trapped(self, trap: Trap) -> None:
        """Pass on what the program sees as a trap."""
        if self.bare is None or not self.bare.is_message(trap):
            self._listener(trap)

    def place(self, pc: int) -> str:
        """``0x1000a in main+0x1a (gemm.c:41)``, as far as symbols and lines know."""
        text = f"{pc:#x}"
        if self.image is not None:
            symbol = self.image.symbols.lookup(pc)
            if symbol is not None:
                text += f" in {symbol[0]}+{symbol[1]:#x}"
            line = self.image.lines.line(pc)
            if line is not None:
                text += f" ({Path(line[0]).name}:{line[1]})"
            elif self.image.lines.why_unknown is not None:
                text += f" (file:line unknown: {self.image.lines.why_unknown})"
        return text

    def load(
        self,
        path: str | Path | bytes,
        *,
        argv: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        stdin: BinaryIO | None = None,
        stdout: Sink | None = None,
        stderr: Sink | None = None,
        dirs: Sequence[Grant] = (),
        sysroot: str | None = None,
        host_time: bool = False,
        strace: Callable[[str], object] | None = None,
    ) -> None:
        """Load an executable and set up its process; without sinks, output is captured.

        One with a ``tohost`` symbol runs on bare metal, in machine mode: of the options it has
        only `stdout` and `stderr`.

        The program reaches files in `dirs` only; a dynamic one needs a `sysroot` with its loader
        and libraries.  Without `env`, its environment is empty.
        """
        if self.image is not None:
            raise RvsimError("a program is loaded already", hint="make a new Machine for each run")
        self.image = load_elf(path, self.memory)
        if self.image.why_unnamed is not None:
            self.note(f"names of addresses unknown: {self.image.why_unnamed}")
        for remark in remarks(self.image.arch, self.config):
            self.note(remark)
        stdout = stdout or self._captured["stdout"].extend
        stderr = stderr or self._captured["stderr"].extend
        if self.image.tohost is not None:
            self._load_bare(self.image, stdout, stderr)
            self._align_pc()
            return
        facts = profile(self._cpu).linux
        counters = _counters(self.state, self.cost)
        self.process = LinuxProcess(
            self.memory,
            self.image,
            argv=argv,
            env=env,
            hwcap=hwcap(self.config.extensions),
            probe=hwprobe(self.config, facts=facts, memory_size=self.memory.size),
            cpu=Cpu(self.config.extensions, facts, self.config.vlenb, partial(_caches, facts.core)),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            now_ns=lambda: counters["cycles"]() * 1_000_000_000 // CYCLES_PER_SECOND,
            counters=counters,
            user_counters=self.config.user_counters == "allow",
            dirs=dirs,
            sysroot=sysroot,
            host_time=host_time,
            syscall_vector=self.syscall_vector,
            initial=self.initial,
            note=self.note,
            strace=strace,
        )
        self.process.start(self.state)
        self._align_pc()

    def _align_pc(self) -> None:
        """Begin where the register has room for: low bits of sepc are 0 (Privileged 12.1.7)."""
        asked = self.state["pc"]
        self.state["pc"] = asked & -self.config.ialign_bytes
        if self.state["pc"] != asked:
            self.note(
                f"the entry point {asked:#x} is no multiple of {self.config.ialign_bytes}: as on"
                f" hardware, where sepc has no such bits, the program starts at"
                f" {self.state['pc']:#x}"
            )

    def _load_bare(self, image: Image, stdout: Sink, stderr: Sink) -> None:
        self.bare = BareMetal(
            self.memory, image, stdout=stdout, stderr=stderr, note=self.note, place=self.place
        )
        extensions = self.config.extensions | {MACHINE}
        self.config = self.interp.config = replace(self.config, extensions=extensions)
        self.bare.start(self.state)

    def step(self, count: int = 1) -> RunResult | None:
        """Execute `count` instructions; a result if the program ended within them."""
        result = self.run(max_insns=count)
        return None if result.reason == "max_insns" else result

    def run(self, *, max_insns: int | None = None, timeout: float | None = None) -> RunResult:
        """Run until the program ends, traps, or has done exactly `max_insns`, or `timeout` s."""
        if self.image is None:
            raise RvsimError("nothing is loaded", hint="call load() first")
        fuel = _NO_LIMIT if max_insns is None else max_insns
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._interrupts:
            try:
                return self._run(fuel, deadline)
            finally:
                if self.ring is not None:
                    self.ring.flush()

    def _run(self, fuel: int, deadline: float | None) -> RunResult:
        ended: RunResult | None = None
        if self.process is not None:
            self.process.deadline.at = deadline
        while True:
            part, until = self._until_timer(fuel, deadline)
            trap, left = self._interpret(part, until)
            fuel -= part - left
            self._interrupts.handle()
            if trap is None:
                if self.process is not None and self._looks_at_timers:
                    ended = self._interrupted(self.process)
                    if ended is not None:
                        return ended
                if fuel and not _is_past(deadline):
                    continue  # a signal was handled, and nothing came of it
                limit: Literal["max_insns", "timeout"] = "timeout" if fuel else "max_insns"
                return self._result(limit, LIMIT_REACHED, None)
            if self.bare is not None:
                ended, fuel = self._bare_trap(self.bare, trap, fuel)
            else:
                with self._interrupts.waiting():
                    ended = self._process_trap(trap)
            if ended is not None:
                return ended
            if _is_past(deadline):
                return self._result("timeout", LIMIT_REACHED, None)

    def _until_timer(self, fuel: int, deadline: float | None) -> tuple[int, float | None]:
        """Fuel and deadline up to when a timer of the program may have to interrupt it."""
        cycles, moment = (None, None) if self.process is None else self.process.run_limit()
        if moment is not None:
            return fuel, moment if deadline is None else min(deadline, moment)
        if cycles is None:
            return fuel, deadline
        if self.cost is not None:
            cycles = _BETWEEN_TIMERS - self.state["instret"] % _BETWEEN_TIMERS
        return min(fuel, max(1, cycles)), deadline

    @property
    def _looks_at_timers(self) -> bool:
        """Whether timers may interrupt here: the same places, however the run is cut into parts."""
        return self.cost is None or self.state["instret"] % _BETWEEN_TIMERS == 0

    def _interrupted(self, process: LinuxProcess) -> RunResult | None:
        """A result if a signal ends the program between two instructions."""
        try:
            process.interrupt(self.state)
        except ProcessExit as ended:
            return self._result("exit", ended.code, None)
        except BlockedForEver as blocked:
            trap = Trap(Cause.ENVIRONMENT_CALL_FROM_U_MODE, self.state["pc"], 0, blocked.why)
            return self._result("trap", BLOCKED_FOR_EVER, trap)
        return None

    def _interpret(self, fuel: int, deadline: float | None) -> tuple[Trap | None, int]:
        """As `Interpreter.run` does; records begin and end between two instructions."""
        while self._turns:
            at, ring = self._turns[0]
            part = min(fuel, max(0, at - self.state["instret"]))
            trap, left = self.interp.run(part, deadline)
            fuel -= part - left
            if trap is not None or left or self.state["instret"] < at:
                return trap, fuel
            del self._turns[0]
            self._begin_anew(ring)
        return self.interp.run(fuel, deadline)

    def _killed(self, trap: Trap) -> RunResult:
        return self._result("trap", 128 + signal_number(trap.cause), trap)

    def _bare_trap(self, bare: BareMetal, trap: Trap, fuel: int) -> tuple[RunResult | None, int]:
        """A message to the host is one instruction more; any other trap is the handler's."""
        if bare.is_message(trap):
            with bare.page_open():
                inner = self.interp.again()
            fuel -= inner is None
            try:
                bare.serve()
            except HostExit as ended:
                return self._result("exit", ended.code, None), fuel
            if inner is None:
                return None, fuel
            trap = inner
        return None if bare.enter_handler(trap, self.state) else self._killed(trap), fuel

    def _process_trap(self, trap: Trap) -> RunResult | None:
        assert self.process is not None
        if trap.cause == Cause.ENVIRONMENT_CALL_FROM_U_MODE:
            return self._system_call(trap)
        handled = self.process.fault(trap.cause, trap.tval, self.state)
        return None if handled else self._killed(trap)

    def _system_call(self, trap: Trap) -> RunResult | None:
        """A result if the call ends the program: it then stays at the call."""
        assert self.process is not None
        self.state["pc"] = trap.pc + 4
        try:
            self.process.syscall(self.state)
        except ProcessExit as ended:
            self.state["pc"] = trap.pc
            return self._result("exit", ended.code, None)
        except BlockedForEver as blocked:
            self.state["pc"] = trap.pc
            return self._result("trap", BLOCKED_FOR_EVER, Trap(trap.cause, trap.pc, 0, blocked.why))
        except CutShort:
            self.state["pc"] = trap.pc
            return self._result("timeout", LIMIT_REACHED, None)
        except KeyboardInterrupt:
            self.state["pc"] = trap.pc
            raise
        return None

    def _result(
        self,
        reason: Literal["exit", "trap", "max_insns", "timeout"],
        exit_code: int,
        trap: Trap | None,
    ) -> RunResult:
        return RunResult(
            reason,
            exit_code,
            trap,
            self.state["instret"],
            self.cycle,
            bytes(self._captured["stdout"]),
            bytes(self._captured["stderr"]),
            self,
        )
