"""The system calls by subject.  Importing this package fills `rvsim.linux.table.CALLS`."""

from rvsim.linux.calls import (
    events,
    filesystem,
    identity,
    io,
    memory,
    paths,
    polling,
    signals,
    system,
    threads,
    time,
    transfer,
)

__all__ = [
    "events",
    "filesystem",
    "identity",
    "io",
    "memory",
    "paths",
    "polling",
    "signals",
    "system",
    "threads",
    "time",
    "transfer",
]
