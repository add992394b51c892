"""Nodes of the kernel's tree that lead to open files and folders."""

from __future__ import annotations

import stat
from collections.abc import Callable

from rvsim.guest.linux.files import OpenFile
from rvsim.guest.linux.nodes import Link, Node
from rvsim.guest.linux.spots import Spot


class DeviceNode(Node):
    """A device: each opening makes what `make` says of its flags."""

    mode = stat.S_IFCHR | 0o666

    def __init__(self, make: Callable[[int], OpenFile]) -> None:
        self.make = make


class Magic(Link):
    """A link of ``/proc/self`` that leads to an open file or folder itself, not to its name."""

    def __init__(
        self, target: Callable[[], bytes], leads_to: Callable[[], OpenFile | Spot]
    ) -> None:
        super().__init__(target)
        self.leads_to = leads_to
