"""What the kernel itself shows as files: their contents are made when they are read."""

from __future__ import annotations

import stat
import zlib
from collections.abc import Callable, Mapping
from typing import Final

from rvsim.guest.linux.status import Status

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


class Link(Node):
    """A symbolic link."""

    mode = stat.S_IFLNK | 0o777

    def __init__(self, target: Callable[[], bytes]) -> None:
        self.target = target


class Directory(Node):
    """A folder; its entries are asked for each time."""

    mode = stat.S_IFDIR | 0o555

    def __init__(self, entries: Callable[[], Mapping[bytes, Node]]) -> None:
        self.entries = entries


def folder(**entries: Node) -> Directory:
    """A folder with entries that are always there.

    >>> sorted(folder(version=Text(lambda: b"1")).entries())
    [b'version']
    """
    named = {name.encode(): node for name, node in entries.items()}
    return Directory(lambda: named)


def text(content: str | int) -> Text:
    """A file that always holds one line."""
    line = f"{content}\n".encode()
    return Text(lambda: line)
