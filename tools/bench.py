"""Measure how fast rvsim is, and say where it misses a bar.

python tools/bench.py                   all tables, in Markdown as in docs/performance.md
python tools/bench.py jit               one table (reference, jit, cycles, traces, compile, whole)
python tools/bench.py --json FILE       the figures for machines as well
python tools/bench.py --only gemm       lines whose name contains one of the words
python tools/bench.py --check           exit 1 where a bar is missed
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

from rvsim.errors import RvsimError
from tools.benchmarks import compile_time, cycles, peers, reference, traces, whole
from tools.benchmarks.report import Options, Result, host

TABLES: Final[dict[str, ModuleType]] = {
    "reference": reference,
    "jit": peers,
    "cycles": cycles,
    "traces": traces,
    "compile": compile_time,
    "whole": whole,
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    asked = Options(options.only, options.runs, options.seconds, options.vlen)
    measured: dict[str, list[Result]] = {}
    print(f"Measured on: {', '.join(f'{key} {value}' for key, value in host().items())}.")
    for name in options.tables or TABLES:
        measured[name] = list(TABLES[name].measure(asked))
        if measured[name]:
            print(f"\n## {TABLES[name].TITLE}\n\n{TABLES[name].table(measured[name])}", flush=True)
    if options.json is not None:
        options.json.write_text(_as_json(measured), "utf-8")
    missed = [m for results in measured.values() for r in results if (m := r.missed())]
    for line in missed:
        print(f"missed: {line}", file=sys.stderr)
    return int(options.check and bool(missed))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{', '.join(TABLES)}; all")
    parser.add_argument("--vlen", type=int, default=256)
    parser.add_argument("--runs", type=int, default=5, help="the median counts (%(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a run (%(default)s)")
    parser.add_argument("--only", nargs="+", default=(), metavar="WORD")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is missed")
    return parser


def _as_json(measured: dict[str, list[Result]]) -> str:
    tables = {name: [r.as_json() for r in results] for name, results in measured.items()}
    return json.dumps({"host": host(), "tables": tables}, indent=1) + "\n"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RvsimError as error:
        sys.exit(f"bench.py: {error}")
