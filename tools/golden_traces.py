"""Writes the golden traces in `traces/`: ``python tools/golden_traces.py``, then look at the diff.

They are traces of `traces/saxpy.elf`; tests compare them byte for byte.
"""

from __future__ import annotations

import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

from rvsim import cli

TRACES = Path(__file__).resolve().parents[1] / "traces"
GOLDENS = {
    "kanata": "saxpy.kanata",
    "chrome": "saxpy.json",
    "callgrind": "saxpy.callgrind",
    "spike": "saxpy.log",
}
"""Files by the kind of trace; the binary formats are compared with these."""

TIMELINE = "saxpy.txt"


def write(folder: Path) -> None:
    """Run the program, and write all goldens to a folder."""
    files = [f"--trace={kind}:{folder / name}" for kind, name in GOLDENS.items()]
    timeline = ["timeline", "saxpy.elf", "--roi", "saxpy", "--width", "100"]
    with chdir(TRACES):  # the program's stack has its name
        code = cli.run(["run", "saxpy.elf", *files])
        with open(folder / TIMELINE, "w") as text, redirect_stdout(text):
            code = code or cli.run(timeline)
    if code:
        sys.exit(code)


if __name__ == "__main__":
    write(TRACES)
