"""The kinds of traces, in a module that imports no writer."""

from __future__ import annotations

from typing import Final, NamedTuple


class TraceKind(NamedTuple):
    """The purpose of a trace, and its writer, a class of the module ``rvsim.trace.<kind>``.

    A kind with a `writer` has times, and needs a cost model.
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
