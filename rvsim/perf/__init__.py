"""Where the cycles of a run went (by instruction, line, function, loop), and what limits it."""

from rvsim.perf.bounds import Bounds, bounds
from rvsim.perf.compare import Comparison, compare
from rvsim.perf.loops import Loop, find_loops
from rvsim.perf.profile import Part, Profile, profile
from rvsim.perf.region import Region, find_region
from rvsim.perf.roofline import Point, Roof, memory_roofs, point, sews_of, unit_roofs
from rvsim.perf.site import Site

__all__ = [
    "Bounds",
    "Comparison",
    "Loop",
    "Part",
    "Point",
    "Profile",
    "Region",
    "Roof",
    "Site",
    "bounds",
    "compare",
    "find_loops",
    "find_region",
    "memory_roofs",
    "point",
    "profile",
    "sews_of",
    "unit_roofs",
]
