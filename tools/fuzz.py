"""Look for faults with random input, for as long as there is time.

python tools/fuzz.py instructions --host x86-64-v3 --minutes 60 --seed 1
python tools/fuzz.py NAME --help           the options of one fuzzer

Each module of tools/fuzzers is a fuzzer: its `main` takes the arguments after its name and returns
the exit code, 0 without a finding and 1 with one.  A finding is shown with a line that repeats it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Sequence

from tools import fuzzers


def names() -> list[str]:
    """The fuzzers that there are."""
    return sorted(module.name for module in pkgutil.iter_modules(fuzzers.__path__))


def main(arguments: Sequence[str]) -> int:
    if arguments and arguments[0] in names():
        name, *rest = arguments
        return int(importlib.import_module(f"tools.fuzzers.{name}").main(rest))
    print(f"usage: fuzz.py NAME [OPTIONS]; NAME is one of {', '.join(names())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
