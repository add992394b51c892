"""Memory instructions at hostile addresses: both engines end alike, and nothing leaves the guest.

Programs and comparison are those of the tests (tests/program/address_programs.py), which run some.
The guest's memory lies between two spans that the host may not touch; so the programs run in a
process of their own, and if it is killed, the seed that it was at is told.
"""

from __future__ import annotations

import mmap
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.program.address_programs import compare
from tools.fuzzers import fuzz

NAME: Final = "addresses"
_ROOT: Final = Path(__file__).resolve().parents[2]
_INSIDE: Final = (
    "import sys; from tools.fuzzers import addresses as a; sys.exit(a.inside(sys.argv))"
)
_SEED_BYTES: Final = 8


def main(arguments: Sequence[str]) -> int:
    """Run the programs in another process, and say at which seed it was, should it be killed."""
    with tempfile.NamedTemporaryFile() as progress:
        progress.write(bytes(_SEED_BYTES))
        progress.flush()
        command = [sys.executable, "-c", _INSIDE, progress.name, *arguments]
        with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
        if process.returncode < 0:
            seed = int.from_bytes(Path(progress.name).read_bytes(), "little")
            print(
                f"{NAME}: ended by {signal.Signals(-process.returncode).name} at seed {seed}:"
                f" an access has left the guest's memory; again: python tools/fuzz.py {NAME}"
                f" --seed {seed} --count 1"
            )
        return int(process.returncode != 0)


def inside(arguments: Sequence[str]) -> int:
    """The process that runs them: notes each seed in a file before it begins."""
    _, progress, *rest = arguments
    with open(progress, "r+b") as file, mmap.mmap(file.fileno(), _SEED_BYTES) as note:

        def one(seed: int) -> None:
            note[:] = seed.to_bytes(_SEED_BYTES, "little")
            compare(seed)

        return fuzz(NAME, (__doc__ or "").splitlines()[0], one, rest)
