"""The cost model: how many cycles a core takes, and why.

`core` holds the numbers, which `core_tables` reads from `isa/cores/*.toml`.  For each instruction
`program` traces a second small program, from the facts in its definition (`facts`) and on one
CostState (`state`).  `scalar`, `vector`, `lsu` and `vector_memory` say what happens; `issue`
charges every cycle to one reason; `hierarchy`, `caches` and `streams` handle everything but plain
L1 hits.  `model` runs these programs on a machine.
"""

from rvsim.core_files import core_names
from rvsim.cost.core import Core
from rvsim.cost.core_tables import describe, load_core
from rvsim.cost.model import CostModel
from rvsim.cost.reasons import REASONS

__all__ = ["REASONS", "Core", "CostModel", "core_names", "describe", "load_core"]
