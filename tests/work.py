"""A limit to what code may do that is the same on each host: calls of functions, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest


@contextmanager
def at_most(calls: int) -> Iterator[None]:
    """Fail as soon as more functions have been called than that, of Python's own and of C's.

    The code under test can't take the failure for damage of its input: it is no `Exception`.
    """
    left = calls

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        if event in ("call", "c_call"):
            left -= 1
            if left < 0:
                sys.setprofile(None)
                pytest.fail(f"more than {calls:,} calls of functions")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)
