"""Writes the golden traces in `traces/`: ``python tools/golden_traces.py``, then look at the diff.

They are traces of `traces/saxpy.S`, of its function saxpy only; tests compare them byte for byte.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rvsim import cli
from rvsim.toolchain import build

TRACES = Path(__file__).resolve().parents[1] / "traces"
GOLDENS = {"kanata": "saxpy.kanata", "chrome": "saxpy.json", "spike": "saxpy.log"}
"""Files by the kind of trace; the binary formats are compared with these."""


def write(folder: Path) -> None:
    """Run the program, and write all goldens to a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "saxpy.elf"
        build([TRACES / "saxpy.S"], program)
        files = [f"--trace={kind}:{folder / name}" for kind, name in GOLDENS.items()]
        code = cli.run(["run", str(program), "--roi", "saxpy", *files])
    if code:
        sys.exit(code)


if __name__ == "__main__":
    write(TRACES)
