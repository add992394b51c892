"""What `stat` and `statx` tell of a file, as RISC-V Linux lays it out."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Final

from rvsim.guest.linux.clock import SECOND

USER_ID: Final = 1000
BLOCK: Final = 4096
STAT_SIZE: Final = 128
STATX_SIZE: Final = 256
_STATX_BASIC: Final = 0x7FF


@dataclass(frozen=True, slots=True)
class Status:
    """A file's type and size.  One time stands for all three: reading must not change the next run.

    The user owns all files of the host, and devices are the same, so that hosts agree.
    """

    mode: int
    size: int = 0
    inode: int = 1
    links: int = 1
    mtime_ns: int = 0
    owner: int = USER_ID

    def stat(self) -> bytes:
        """The 128 bytes of ``struct stat``."""
        seconds, nanoseconds = divmod(self.mtime_ns, SECOND)
        times = (seconds, nanoseconds) * 3
        owner = (self.links, self.owner, self.owner)
        return struct.pack(
            "<QQIIIIQQqiiq6qII",
            *(1, self.inode, self.mode, *owner, 0, 0, self.size, BLOCK, 0, self.blocks),
            *(*times, 0, 0),
        )

    def statx(self) -> bytes:
        """The 256 bytes of ``struct statx``."""
        seconds, nanoseconds = divmod(self.mtime_ns, SECOND)
        time = struct.pack("<qIi", seconds, nanoseconds, 0)
        head = struct.pack(
            "<IIQIIIHHQQQQ",
            *(_STATX_BASIC, BLOCK, 0, self.links, self.owner, self.owner, self.mode, 0),
            *(self.inode, self.size, self.blocks, 0),
        )
        devices = struct.pack("<IIII", 0, 0, 0, 1)
        # access, birth (not known), change and modification
        content = head + time + bytes(16) + time + time + devices
        return content.ljust(STATX_SIZE, b"\0")

    @property
    def blocks(self) -> int:
        """Units of 512 bytes, as if the file had no holes."""
        return -(-self.size // 512)


def status_of(host: os.stat_result) -> Status:
    """The guest's view of a file of the host."""
    return Status(host.st_mode, host.st_size, host.st_ino, host.st_nlink, host.st_mtime_ns)
