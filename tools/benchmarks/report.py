"""What results have in common, the host they were made on, and tables in Markdown."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked of every table."""

    only: Sequence[str]
    runs: int
    seconds: float
    vlen: int

    def wants(self, *names: str) -> bool:
        """Whether a word of ``--only`` occurs in one of the names."""
        return not self.only or any(word in name for word in self.only for name in names)


@dataclass(frozen=True)
class Result:
    """Figures of one line; a subclass says what they are."""

    def missed(self) -> str | None:
        """What fell short of its bar, or None."""
        return None

    def derived(self) -> dict[str, Any]:
        """Figures that follow from the fields, and the bars."""
        return {}

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | self.derived() | {"missed": self.missed()}


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """A table; all but the first columns are numbers.

    >>> print(markdown(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|---:|
    | x | 1 |
    """
    rule = "|" + "---|" * text_columns + "---:|" * (len(header) - text_columns)
    return "\n".join([_row(header), rule, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def host() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "processor": processor(),
        "cpus": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": np.__version__,
        "llvmlite": version("llvmlite"),
    }


def processor() -> str:
    """The processor's name, where the system tells."""
    try:
        found = re.search("model name\\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "unknown"
