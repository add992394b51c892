"""The system calls by subject: importing them fills the table `CALLS`."""

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
from rvsim.guest.linux.table import CALLS

__all__ = [
    "CALLS",
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
