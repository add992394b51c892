"""A call that waits ends with `--timeout` and with Ctrl-C."""

from __future__ import annotations

import signal
import struct
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.cli.programs import A0, A1, A2, DATA, li, load_upper, step, syscall, write

Program = Callable[..., str]
TEXT = b"ready\n\0\0"
SECONDS = struct.pack("<QQ", 1000, 0)
ROOM = [load_upper(A1, DATA), li(A2, 1)]
WAITS = {
    "read": [li(A0, 0), *ROOM, *syscall(63)],  # of standard input, which is open and silent
    "nanosleep": [
        load_upper(A0, DATA),
        step("addi", rd=A0, rs1=A0, imm=8),
        li(A1, 0),
        *syscall(101),
    ],
}


def waiting(program: Program, name: str) -> list[str]:
    """A command that says "ready" and waits in a call."""
    file = program(*write(1, 6), *WAITS[name], data=TEXT + SECONDS)
    return [sys.executable, "-m", "rvsim", "run", "--host-time", file]


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_ends_with_the_time_limit(program: Program, name: str) -> None:
    command = waiting(program, name)
    command.insert(4, "--timeout=0.5")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.wait() == 124
        assert process.stderr is not None
        assert b"limit --timeout 0.5 reached" in process.stderr.read()


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_ends_with_ctrl_c(program: Program, name: str) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job may ignore it
    try:
        process = subprocess.Popen(
            waiting(program, name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 128 + signal.SIGINT
        assert process.stderr.read().startswith(b"rvsim: interrupted after ")
