"""Runs that keep what a loop's instructions did in each cycle, and stop when that is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rvsim.cli import execution
from rvsim.cli.console import note
from rvsim.cli.cycle_options import CycleOptions, note_unknown
from rvsim.cli.execution import Guest
from rvsim.cost.batch import Batch
from rvsim.engine.observer import Batches
from rvsim.machine import ALL_INSNS, Machine, RunResult
from rvsim.perf import Region, find_region
from rvsim.trace.session import NothingTraced
from rvsim.trace.steady import ENOUGH, FirstRows

_LONG_ENOUGH: Final = 5 * ENOUGH
"""Instructions among which a loop that takes most of the time is sure to be."""


def steady_run(
    file: str,
    guest: Guest,
    options: CycleOptions,
    output: Callable[[bytes], object] | None,
    within: Sequence[Region] = (),
    start: int = 0,
) -> tuple[Machine, FirstRows, RunResult | None]:
    """Run until enough rows are kept; the result if the program came to its end before that.

    Rows are those of the regions `within`, or else of those that the options name.  Those of a run
    that is known to get there are looked for from instruction `start` on, and not for long.
    """
    kept = FirstRows()
    stop = start + _LONG_ENOUGH if start else ALL_INSNS.stop
    machine = Machine(
        guest.options,
        observers=[Batches(lambda batch: _keep(kept, batch, machine), range(start, stop))],
        note=note,
        statistics=start > 0,  # as in the run before, whose compiled code is used again
        cost=options.loaded_core,
    )
    execution.load(machine, file, guest, output, output)
    assert machine.image is not None
    kept.regions = within or [find_region(text, machine.image.symbols) for text in options.roi]
    result = execution.run_until_enough(machine, guest, stop)
    if not kept.steps:
        where = " or ".join(options.roi) or "the program"
        raise NothingTraced(f"nothing to show: no instruction of {where} executed")
    note_unknown(machine)
    return machine, kept, result


def _keep(kept: FirstRows, batch: Batch, machine: Machine) -> None:
    """Keep what is wanted of a batch, and stop the run where that is enough."""
    kept.batch(batch)
    if kept.enough:
        machine.stop()
