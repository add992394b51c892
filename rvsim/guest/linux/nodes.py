"""What the kernel itself shows as files: their contents are made when they are read."""

from __future__ import annotations

import stat
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from rvsim.guest.linux.status import Status

if TYPE_CHECKING:
    from rvsim.guest.linux.files import OpenFile
    from rvsim.guest.linux.spots import Spot

_ROOT: Final = 0
"""Such files belong to the superuser, so nobody changes them."""


class Node:
    """A file, link or folder that the kernel makes."""

    mode: int

    def status(self, path: bytes) -> Status:
        """What `stat` tells of it under its name, which chooses the inode."""
        inode = zlib.crc32(path) | 1 << 32  # a number that is the same in each run
        return Status(self.mode, inode=inode, owner=_ROOT)


class Text(Node):
    """A file to read."""

    def __init__(self, content: Callable[[], bytes], permissions: int = 0o444) -> None:
        self.content = content
        self.mode = stat.S_IFREG | permissions


class DeviceNode(Node):
    """A device: each opening makes what `make` says of its flags."""

    mode = stat.S_IFCHR | 0o666

    def __init__(self, make: Callable[[int], OpenFile]) -> None:
        self.make = make


class Link(Node):
    """A symbolic link."""

    mode = stat.S_IFLNK | 0o777

    def __init__(self, target: Callable[[], bytes]) -> None:
        self.target = target


class Magic(Link):
    """A link of ``/proc/self`` that leads to an open file or folder itself, not to its name."""

    def __init__(
        self, target: Callable[[], bytes], leads_to: Callable[[], OpenFile | Spot]
    ) -> None:
        super().__init__(target)
        self.leads_to = leads_to


class Directory(Node):
    """A folder; its entries are asked for each time."""

    mode = stat.S_IFDIR | 0o555

    def __init__(self, entries: Callable[[], Mapping[bytes, Node]]) -> None:
        self.entries = entries
