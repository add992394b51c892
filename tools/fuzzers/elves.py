"""Mutated ELF files, run and disassembled: each runs, traps or is refused in one line.

The files are those of the tests, and the executables in ``traces``.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.program.hostile_elves import mutations
from tests.program.test_hostile_elves import check_file, whole_file
from tools.fuzzers import fuzz

_TRACES = Path(__file__).resolve().parents[2] / "traces"


@cache
def _originals() -> list[bytes]:
    return [whole_file(), *(path.read_bytes() for path in sorted(_TRACES.glob("*.elf")))]


def one(seed: int) -> None:
    """A file that the seed chooses, with some changes."""
    rng = random.Random(seed)
    mutated = next(mutations(rng.choice(_originals()), rng.randrange))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated.elf"
        path.write_bytes(mutated)
        check_file(path)


def main(arguments: Sequence[str]) -> int:
    return fuzz("elves", (__doc__ or "").splitlines()[0], one, arguments)
