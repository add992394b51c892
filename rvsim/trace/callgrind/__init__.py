"""``callgrind:FILE``: a profile with calls for KCachegrind and callgrind_annotate.

`charges` has the costs of instructions; `steps` and `calls` follow calls; `sums` adds up costs;
`functions` gives functions their names and numbers; `text` writes the file.
"""

from rvsim.trace.callgrind.trace import CallgrindTrace

__all__ = ["CallgrindTrace"]
