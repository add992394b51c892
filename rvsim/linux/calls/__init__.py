"""The system calls by subject.  Importing this package fills `rvsim.linux.table.CALLS`."""

from rvsim.linux.calls import io, memory, paths, signals, system, threads, time

__all__ = ["io", "memory", "paths", "signals", "system", "threads", "time"]
