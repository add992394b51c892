"""How a run ended, and what it left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rvsim.errors import RvsimError
from rvsim.hart.traps import Trap
from rvsim.host.dataframes import arrow_table, pandas_frame
from rvsim.host.notebook import run_as_html
from rvsim.machine.environment import Reason
from rvsim.printable import printable

if TYPE_CHECKING:
    from rvsim.machine.machine import Machine


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
        return f"exit {self.exit_code}" if self.reason == "exit" else f"limit {self.reason} reached"
