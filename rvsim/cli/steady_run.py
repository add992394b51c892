"""Runs that keep what a loop's instructions did in each cycle, and stop when that is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rvsim.cli import execution
from rvsim.cli.console import note
from rvsim.cli.cycle_options import CycleOptions, note_unknown
from rvsim.cli.execution import Guest
from rvsim.machine import Machine, RunResult
from rvsim.perf import Region, find_region
from rvsim.trace.session import NothingTraced
from rvsim.trace.steady import Kept


def steady_run(
    file: str,
    guest: Guest,
    options: CycleOptions,
    output: Callable[[bytes], object] | None,
    within: Sequence[Region] = (),
) -> tuple[Machine, Kept, RunResult | None]:
    """Run until enough rows are kept; the result if the program came to its end before that.

    Rows are those of the regions `within`, or else of those that the options name.
    """
    kept = Kept()
    machine = Machine(note=note, cost=options.load_core(), timed=kept.batch, **guest.machine)
    execution.load(machine, file, guest, output, output)
    assert machine.image is not None
    kept.regions = within or [find_region(text, machine.image.symbols) for text in options.roi]
    result = execution.run_until(machine, guest, lambda: kept.enough)
    if not kept.steps:
        where = " or ".join(options.roi) or "the program"
        raise NothingTraced(f"nothing to show: no instruction of {where} executed")
    note_unknown(machine)
    return machine, kept, result
