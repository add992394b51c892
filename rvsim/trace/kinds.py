"""The kinds of traces, for those who only want to know what there is."""

from __future__ import annotations

from typing import Final, NamedTuple


class TraceKind(NamedTuple):
    """What a trace is for; one that tells times, which needs a cost model, has a `writer`.

    The writer is a class of the module ``rvsim.trace.<kind>``.
    """

    about: str
    writer: str = ""


KINDS: Final = {
    "spike": TraceKind("Spike's commit log"),
    "npy": TraceKind("times, for numpy.load", "NpyTrace"),
    "parquet": TraceKind("the same as a Parquet table", "ParquetTrace"),
    "kanata": TraceKind("times, for Konata", "KanataTrace"),
    "chrome": TraceKind("times, for Perfetto", "ChromeTrace"),
    "callgrind": TraceKind("calls, for KCachegrind", "CallgrindTrace"),
}
