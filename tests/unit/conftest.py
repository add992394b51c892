"""Unit tests start no process: a compiler, a shell or another Python costs more than the test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

STARTS_A_PROCESS = frozenset(
    ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system")
)
"""Audit events of Python."""

_test_runs = False


class ProcessStarted(BaseException):
    """A test in this folder started a process; no `except Exception` may hide it."""


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if _test_runs and event in STARTS_A_PROCESS:
        raise ProcessStarted(f"{event} {arguments[:2]}: tests of processes stand in other folders")


sys.addaudithook(_refuse)


@pytest.fixture(autouse=True)
def _no_process() -> Iterator[None]:
    global _test_runs
    _test_runs = True
    yield
    _test_runs = False
