"""The machine: memory, harts, what surrounds the program, and what listens to its run."""

from rvsim.engine.observer import ALL_INSNS, Need, Observer, Statistics
from rvsim.machine.environment import LIMIT_REACHED, Ending, Environment
from rvsim.machine.hart import Hart
from rvsim.machine.machine import Machine, RunResult
from rvsim.machine.options import RunOptions

__all__ = [
    "ALL_INSNS",
    "LIMIT_REACHED",
    "Ending",
    "Environment",
    "Hart",
    "Machine",
    "Need",
    "Observer",
    "RunOptions",
    "RunResult",
    "Statistics",
]
