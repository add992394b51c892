"""The system calls by subject.  Importing this package fills `rvsim.guest.linux.table.CALLS`."""

from rvsim.guest.linux.calls import (
    attributes,
    events,
    filesystem,
    identity,
    io,
    links,
    memory,
    paths,
    perf,
    polling,
    settings,
    signals,
    system,
    threads,
    time,
    transfer,
)

__all__ = [
    "attributes",
    "events",
    "filesystem",
    "identity",
    "io",
    "links",
    "memory",
    "paths",
    "perf",
    "polling",
    "settings",
    "signals",
    "system",
    "threads",
    "time",
    "transfer",
]
