"""Fuzzers, one a module, which ``tools/fuzz.py`` runs by name."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from typing import Final

from rvsim.host.processor import VARIABLE, check_host

_BETWEEN_REPORTS: Final = 60.0


def fuzz(
    name: str, description: str, one: Callable[[int], object], arguments: Sequence[str]
) -> int:
    """Run `one` on one seed after the other, until it raises or the time is over."""
    options = _parser(name, description).parse_args(arguments)
    if options.host:
        os.environ[VARIABLE] = options.host
    host = check_host()
    print(f"{name}: for {host}, from seed {options.seed}", flush=True)
    begin = reported = time.monotonic()
    end, seed = begin + 60 * options.minutes, options.seed
    while time.monotonic() < end and (options.count is None or seed < options.seed + options.count):
        try:
            one(seed)
        except Exception as error:
            again = f"python tools/fuzz.py {name} --host {host} --seed {seed} --count 1"
            error.add_note(f"{name}: seed {seed}; again: {again}")
            raise
        seed += 1
        if time.monotonic() - reported > _BETWEEN_REPORTS:
            reported = time.monotonic()
            print(f"{name}: {seed - options.seed:,} so far", flush=True)
    minutes = (time.monotonic() - begin) / 60
    print(f"{name}: {seed - options.seed:,} seeds in {minutes:.1f} minutes, no difference")
    return 0


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"fuzz.py {name}", description=description)
    parser.add_argument("--seed", type=int, default=1, help="the first (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=1.0, help="(default: %(default)s)")
    parser.add_argument("--count", type=int, help="no more than so many seeds")
    parser.add_argument("--host", help=f"what code is compiled for, as {VARIABLE} has it")
    return parser
