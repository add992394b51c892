"""Random programs on both engines, with all of them compiled: they end in the same states.

The generators and the comparison are those of the tests, which run some of each: random bytes in a
loop, the same with the cost model and its records, loops of instructions that retire, and whole
programs with branches and calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tests.cost.test_records_fuzz import compare_bytes
from tests.program.test_jit import compare_loop
from tests.program.test_jit_fuzz import compare
from tests.program.test_jit_programs import structured
from tools.fuzzers import fuzz

KINDS: Final[tuple[Callable[[int], None], ...]] = (
    compare, compare_loop, compare_bytes, structured
)  # fmt: skip


def one(seed: int) -> None:
    """A program of the kind that the seed says, with a number of its own."""
    KINDS[seed % len(KINDS)](seed)


def main(arguments: Sequence[str]) -> int:
    return fuzz("programs", (__doc__ or "").splitlines()[0], one, arguments)
