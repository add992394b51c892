"""Runs that keep rows of a loop's instructions, and stop when they have enough."""

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
"""Instructions that surely include a loop which takes most of the time."""


def steady_run(
    file: str,
    guest: Guest,
    options: CycleOptions,
    output: Callable[[bytes], object] | None,
    within: Sequence[Region] = (),
    start: int = 0,
) -> tuple[Machine, FirstRows, RunResult | None]:
    """Run until there are enough rows; the result is None unless the program ended before that.

    Rows are in the regions `within`, or else in those that the options name.  With `start`, the
    search begins at that instruction and is short; the caller knows that the run gets there.
    """
    kept = FirstRows()
    stop = start + _LONG_ENOUGH if start else ALL_INSNS.stop
    machine = Machine(
        guest.options,
        observers=[Batches(lambda batch: _keep(kept, batch, machine), range(start, stop))],
        note=note,
        statistics=start > 0,  # as in the run before, to use its compiled code again
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
    """Keep the wanted rows of a batch, and stop the run if there are enough."""
    kept.batch(batch)
    if kept.enough:
        machine.stop()
