"""The machine: memory, a hart, what surrounds the program, and the engine that runs it."""

from rvsim.machine.machine import ALL_INSNS, LIMIT_REACHED, Machine, RunResult

__all__ = ["ALL_INSNS", "LIMIT_REACHED", "Machine", "RunResult"]
