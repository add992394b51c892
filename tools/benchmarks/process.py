"""Run a command to its end and say what it cost.

As a program, it is the small process between the benchmark and the command: a process counts the
memory of whatever started it as its own, until it becomes the command.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

_KIB: Final = 1 if sys.platform == "darwin" else 1024
"""Bytes in the unit of ru_maxrss."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took, in seconds of processor and wall time, and what it wrote."""

    user: float
    system: float
    wall: float
    peak_bytes: int
    output: str


def run(command: Sequence[str], env: Mapping[str, str] | None = None) -> Cost:
    """The cost of a command; `RuntimeError` with its messages where it fails."""
    launcher = [sys.executable, "-SP", __file__, *command]
    done = subprocess.run(launcher, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return Cost(**json.loads(done.stdout))


def _launch(command: Sequence[str]) -> int:
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    wall = time.perf_counter() - start
    output = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        print(f"{output}exit code {done.returncode}")
        return 1
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = Cost(used.ru_utime, used.ru_stime, wall, used.ru_maxrss * _KIB, output)
    print(json.dumps(asdict(cost)))
    return 0


if __name__ == "__main__":
    sys.exit(_launch(sys.argv[1:]))
