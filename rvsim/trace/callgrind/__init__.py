"""``callgrind:FILE``: a profile with calls for KCachegrind and callgrind_annotate.

`charges` has what instructions cost, `steps` and `calls` follow who calls whom, `sums` adds both up
by what `functions` names, and `text` writes the file.
"""

from rvsim.trace.callgrind.trace import CallgrindTrace

__all__ = ["CallgrindTrace"]
