"""A machine: memory, the harts on it, and the environment of the program that they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal

from rvsim.config import Config
from rvsim.engine.interp import Interpreter
from rvsim.engine.observer import Observer, Observers, Statistics
from rvsim.errors import RvsimError
from rvsim.guest.attributes import remarks
from rvsim.guest.bare import BareMetal
from rvsim.guest.elf import Image, load_elf
from rvsim.guest.linux import Grant, LinuxProcess, Sink
from rvsim.hart.memory import ADDRESS_SPACE, Memory
from rvsim.hart.state import State
from rvsim.hart.traps import Trap
from rvsim.host.dataframes import arrow_table, pandas_frame
from rvsim.host.deferred_signals import InterruptsLater
from rvsim.host.notebook import run_as_html
from rvsim.insn.decode import Decoded
from rvsim.machine.bare import BareEnvironment
from rvsim.machine.environment import LIMIT_REACHED, NOWHERE, Ending, Environment, Reason
from rvsim.machine.hart import Hart
from rvsim.machine.linux import LinuxEnvironment
from rvsim.machine.notes import Note, Notes
from rvsim.machine.options import RunOptions
from rvsim.printable import printable

if TYPE_CHECKING:
    from rvsim.cost import CostModel
    from rvsim.machine.kept_rows import KeptRows

_NO_LIMIT: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended, and the machine's state then.

    `reason` is exit, trap, max_insns, timeout or stop; `exit_code` what a shell would see (128 +
    signal after a trap, 124 when a limit was reached, 0 at a stop).
    """

    reason: Reason
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

        Raises `RvsimError` if the machine keeps no trace, or for a form without its package.

        >>> from rvsim.toolchain import build_kernel
        >>> from rvsim.machine import Machine
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
        if self.reason == "stop":
            return f"stopped at {self.machine.place(self.machine.state['pc'])}"
        return f"exit {self.exit_code}" if self.reason == "exit" else f"limit {self.reason} reached"


class Machine:
    """Memory, harts and an environment: `load` gives it a program, `run` runs it.

    The first argument is all options at once, or the name of a CPU; options may also be given by
    their names, which `RunOptions` explains.  `observers` listen to the run, and `note` gets a line
    for each remark.

    `harts` are its harts; `state`, `config`, `cost` and `interp` are those of the first.

    >>> from rvsim.toolchain import build_kernel
    >>> machine = Machine(vlen=256)
    >>> machine.load(build_kernel("gemm_tile_s8"))
    >>> result = machine.run(max_insns=10_000_000)
    >>> result.exit_code, result.stdout.splitlines()[-1].startswith(b"PASS")
    (0, True)
    """

    def __init__(
        self,
        options: RunOptions | str | None = None,
        *,
        observers: Iterable[Observer] = (),
        note: Note = lambda text: None,
        **changes: Any,
    ) -> None:
        if isinstance(options, str):
            changes["cpu"] = options
        given = options if isinstance(options, RunOptions) else RunOptions()
        self.options = given.but(**changes)
        self.note = note
        self.memory = Memory(self.options.memory_size, space=ADDRESS_SPACE)
        self.image: Image | None = None
        self.environment: Environment = NOWHERE
        self.rows = _kept_rows(self.options.trace)
        counted = [Statistics()] if self.options.statistics else []
        kept = [] if self.rows is None else [self.rows]
        observer = _OfTheProgram([*counted, *kept, *observers], self)
        self.hart = Hart(self.options, self.memory, observer, Notes(note, self.place))
        self.harts = (self.hart,)
        self._interrupts = InterruptsLater(self._interrupt)
        self._is_stopping = False
        self._captured: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}

    # -- the first hart

    @property
    def state(self) -> State:
        """The registers."""
        return self.hart.state

    @property
    def config(self) -> Config:
        """What the hart is."""
        return self.hart.config

    @property
    def cost(self) -> CostModel | None:
        """The cost model, if cycles are counted."""
        return self.hart.cost

    @property
    def interp(self) -> Interpreter:
        """The reference engine."""
        return self.hart.interp

    @property
    def cycle(self) -> int:
        """Cycles so far: of the cost model, or instructions if there is none."""
        return self.hart.cycle

    # -- the program

    @property
    def process(self) -> LinuxProcess | None:
        """The process, if the program runs on Linux."""
        return self.environment.process

    def place(self, pc: int) -> str:
        """``0x1000a in main+0x1a (gemm.c:41)``, as far as symbols and lines know."""
        return hex(pc) if self.image is None else self.image.place(pc)

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

        Raises `RvsimError` for a file that is none of these, or after an earlier `load`.
        """
        image = self._load_image(path)
        stdout = stdout or self._captured["stdout"].extend
        stderr = stderr or self._captured["stderr"].extend
        if image.tohost is not None:
            bare = BareMetal(
                self.memory, image, stdout=stdout, stderr=stderr, note=self.note, place=self.place
            )
            self.enter(BareEnvironment(bare))
            return
        linux = LinuxEnvironment.of(
            self.hart,
            image,
            argv=argv,
            env=env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            dirs=dirs,
            sysroot=sysroot,
            host_time=host_time,
            note=self.note,
            strace=strace,
        )
        self.enter(linux)

    def _load_image(self, path: str | Path | bytes) -> Image:
        if self.image is not None:
            raise RvsimError("a program is loaded already", hint="make a new Machine for each run")
        self.image = load_elf(path, self.memory)
        if self.image.why_unnamed is not None:
            self.note(f"names of addresses unknown: {self.image.why_unnamed}")
        for remark in remarks(self.image.arch, self.config):
            self.note(remark)
        return self.image

    def enter(self, environment: Environment) -> None:
        """Have the hart start in an environment."""
        self.environment = environment
        environment.start(self.hart)
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

    # -- running

    def step(self, count: int = 1) -> RunResult | None:
        """Execute `count` instructions; a result if the program ended within them."""
        result = self.run(max_insns=count)
        return None if result.reason == "max_insns" else result

    def run(
        self,
        *,
        max_insns: int | None = None,
        timeout: float | None = None,
        until: Collection[int] = (),
    ) -> RunResult:
        """Run until the program ends or traps, or to the first of what is given.

        That is exactly `max_insns` instructions, `timeout` seconds, or the moment before the
        instruction at one of the addresses `until`, unless it is the first that executes.

        Raises `RvsimError` if nothing is loaded; what the program does wrong is in the result.
        """
        if self.environment is NOWHERE:
            raise RvsimError("nothing is loaded", hint="call load() first")
        fuel = _NO_LIMIT if max_insns is None else max_insns
        deadline = None if timeout is None else time.monotonic() + timeout
        self._is_stopping = False
        if frozenset(until) != self.interp.stops:
            self.interp.stop_at(until)
        with self._interrupts:
            try:
                ending = self._run(fuel, deadline)
            finally:
                self.hart.flush()
        return RunResult(
            ending.reason,
            ending.exit_code,
            ending.trap,
            self.state["instret"],
            self.cycle,
            bytes(self._captured["stdout"]),
            bytes(self._captured["stderr"]),
            self,
        )

    def stop(self) -> None:
        """End the run soon, between two instructions: for observers, which it calls meanwhile."""
        self._is_stopping = True
        self._interrupt()

    def _interrupt(self) -> None:
        self.interp.interrupted = True

    def _run(self, fuel: int, deadline: float | None) -> Ending:
        environment, hart, state = self.environment, self.hart, self.state
        environment.begin(deadline)
        while True:
            part, moment = self._until_pause(fuel, deadline)
            pc = state["pc"]
            trap, left = hart.run(part, moment)
            done = part - left
            self._interrupts.handle()
            if trap is None:
                ending = environment.between(hart)
            else:
                before = state["instret"]
                with self._interrupts.waiting():
                    ending = environment.trapped(hart, trap)
                done += state["instret"] - before
            fuel -= done
            if ending is not None:
                return ending
            has_moved = done or state["pc"] != pc
            if self._is_stopping or (has_moved and state["pc"] in hart.interp.stops):
                return Ending("stop", 0)
            if trap is None and not fuel:
                return Ending("max_insns", LIMIT_REACHED)
            if _is_past(deadline):
                return Ending("timeout", LIMIT_REACHED)

    def _until_pause(self, fuel: int, deadline: float | None) -> tuple[int, float | None]:
        """Fuel and deadline up to where the environment has to be asked."""
        insns, moment = self.environment.pause(self.hart)
        if moment is not None:
            return fuel, moment if deadline is None else min(deadline, moment)
        return fuel if insns is None else min(fuel, max(1, insns)), deadline


class _OfTheProgram(Observers):
    """Observers of a machine: they hear of the traps that its program sees."""

    def __init__(self, observers: Iterable[Observer], machine: Machine) -> None:
        super().__init__(observers)
        self._machine = machine

    def trapped(self, d: Decoded | None, trap: Trap) -> None:
        if self._machine.environment.shows(trap):
            super().trapped(d, trap)


def _is_past(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline


def _kept_rows(trace: bool | range) -> KeptRows | None:
    if trace is False:
        return None
    from rvsim.machine.kept_rows import KeptRows

    return KeptRows(trace)
