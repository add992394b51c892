"""Any sequence of system calls with any arguments: the host neither fails nor loses a file."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rvsim.guest.linux import BlockedForEver, Grant, ProcessExit
from rvsim.guest.linux.table import CALLS
from rvsim.hart.memory import LOWEST_FREE, PAGE
from tests.unit.linux_guest import DATA, HEAP, SIZE, Guest

PATHS = [
    "/d", "/d/file", "/d/new", "/d/sub", "/d/sub/deep", "/d/out", "/d/up", "/d/..", "/d/sub/..",
    "/d/up/secret", "/d/out/x", "/d/new/", ".", "..", "", "/", "file", "/etc/passwd", "/dev/zero",
    "/proc/self/exe", "/d/../secret", "/proc/self/fd/3", "/proc/self/fd", "/proc/self/cwd",
    "/proc/self/maps", "/proc/self/cwd/up", "/dev/stdin", "/sys/devices/system/cpu", "/proc/x",
]  # fmt: skip
TEXTS = DATA
VALUES = DATA + PAGE

addresses = st.sampled_from(
    [0, 8, DATA, VALUES, VALUES + 512, HEAP - 8, HEAP, SIZE - 8, SIZE, 1 << 63, (1 << 64) - 1]
)
texts = st.integers(0, len(PATHS) - 1).map(lambda i: TEXTS + 32 * i)
small = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8, 10, 16, 24, 64, 100, 1000, PAGE, LOWEST_FREE])
flags = st.sampled_from(
    [0o100, 0o102, 0o101, 0o1102, 0o200000, 0o400000, 0x200, 0x100, 0x1000, 0x22, 0x32, 0x100022]
)
negative = st.sampled_from([-100 % (1 << 64), -1 % (1 << 64), -1000 % (1 << 64), 0xFFFFFF9C])
argument = st.one_of(texts, addresses, small, small, flags, negative, st.integers(0, 2**64 - 1))
call = st.tuples(st.sampled_from(sorted(CALLS)), st.lists(argument, min_size=6, max_size=6))


def outside(folder: Path) -> list[tuple[str, bytes]]:
    return [
        (str(path.relative_to(folder)), path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
        if folder / "in" not in (path, *path.parents)
    ]


@settings(suppress_health_check=list(HealthCheck))
@given(st.lists(call, min_size=1, max_size=12))
def test_nothing_a_guest_asks_makes_the_host_fail(
    tmp_path_factory, calls: list[tuple[int, list[int]]]
):
    folder = tmp_path_factory.mktemp("any")
    (folder / "in" / "sub").mkdir(parents=True)
    (folder / "other").mkdir()
    for path in ("in/file", "in/sub/deep", "secret", "other/x"):
        (folder / path).write_bytes(path.encode())
    (folder / "in" / "up").symlink_to("..")
    (folder / "in" / "out").symlink_to(folder / "other")
    before = outside(folder)
    guest = Guest(dirs=[Grant(str(folder / "in"), "/d", writable=True)])
    for i, path in enumerate(PATHS):
        guest.memory.write(TEXTS + 32 * i, path.encode() + b"\0")
    guest.memory.write(VALUES, struct.pack("<8Q", VALUES + 512, 64, TEXTS, 32, 0, 1, 2, 3))
    try:
        for number, arguments in calls:
            assert -4096 < guest.call(number, *arguments) < 1 << 63
    except (ProcessExit, BlockedForEver):
        pass
    finally:
        guest.process.close()
    assert outside(folder) == before
    os.chmod(folder / "in", 0o755)
    shutil.rmtree(folder)
