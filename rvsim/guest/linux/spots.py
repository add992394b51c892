"""Folders of the guest's tree, held by descriptors of the host.

A spot stays the same folder whatever it, or one above it, is renamed to: that is what an open
folder and the working directory are on Linux.  Where a spot lies is asked of the host again each
time that it matters, by going up from it: a folder that is no longer below its grant has no parent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from rvsim.guest.linux.errno import ENOENT, CallError, from_host
from rvsim.guest.linux.nodes import Directory

Parts = tuple[bytes, ...]
"""The components of an absolute path."""

FOLDER_FLAGS: Final[int] = sum(
    getattr(os, name, 0) for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_PATH")
)
"""To stand in a folder and no link, also one whose entries may not be listed."""

_LIST_FLAGS: Final[int] = FOLDER_FLAGS & ~getattr(os, "O_PATH", 0)


def guest_path(parts: Parts) -> bytes:
    """The absolute path that the parts make."""
    return b"/" + b"/".join(parts)


def duplicate(fd: int) -> int:
    """Another descriptor of the same file; the guest's error if the host has none left."""
    try:
        return os.dup(fd)
    except OSError as error:
        raise from_host(error) from None


def identity(fd: int) -> tuple[int, int]:
    """What tells one folder of the host from all others."""
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


@dataclass(frozen=True, slots=True)
class Mount:
    """A granted folder: its guest name, and an open descriptor that names it for good."""

    parts: Parts
    root: int
    writable: bool
    sysroot: bool = False

    def layer(self) -> Layer:
        """The folder itself."""
        return Layer(self, duplicate(self.root))


@dataclass(frozen=True, slots=True)
class Layer:
    """A folder of the host, the root of a mount or below it."""

    mount: Mount
    fd: int

    @property
    def is_root(self) -> bool:
        """Whether it is the granted folder itself."""
        return identity(self.fd) == identity(self.mount.root)

    def copy(self) -> Layer:
        """The same with a descriptor of its own."""
        return Layer(self.mount, duplicate(self.fd))

    def below(self, name: bytes) -> Layer:
        """The folder `name` in it; an error if there is a link, or none."""
        try:
            return Layer(self.mount, os.open(name, os.O_RDONLY | FOLDER_FLAGS, dir_fd=self.fd))
        except OSError as error:
            raise from_host(error) from None

    def above(self) -> Layer | None:
        """The folder that it is in now; None at the root, ENOENT if it isn't below that any more.

        The parent is verified by going all the way up: only what is below the root is handed out.
        """
        with self._way_up() as folders:
            return None if len(folders) == 1 else Layer(self.mount, duplicate(folders[1]))

    def inside(self, hint: Parts) -> Parts:
        """Its path below the root now; `hint` is what it was."""
        with self._way_up() as folders:
            names: list[bytes] = []
            for below, above in pairwise(folders):
                likely = hint[-1 - len(names)] if len(names) < len(hint) else None
                names.append(_name_in(above, identity(below), likely))
        return tuple(reversed(names))

    @contextmanager
    def _way_up(self) -> Iterator[list[int]]:
        """Descriptors of the folder and those above it, up to the root."""
        root = identity(self.mount.root)
        with ExitStack() as opened:
            folders = [self.fd]
            while (current := identity(folders[-1])) != root:
                try:
                    fd = os.open(b"..", os.O_RDONLY | FOLDER_FLAGS, dir_fd=folders[-1])
                except OSError as error:
                    raise from_host(error) from None
                opened.callback(os.close, fd)
                if identity(fd) == current:  # the host's own root
                    raise CallError(ENOENT)
                folders.append(fd)
            yield folders


def _name_in(folder: int, wanted: tuple[int, int], likely: bytes | None) -> bytes:
    """The name of the entry of a folder that is `wanted`."""
    if likely is not None and _is_entry(folder, likely, wanted):
        return likely
    for name in _entries(folder):
        if _is_entry(folder, name, wanted):
            return name
    raise CallError(ENOENT)  # it has been removed


def _is_entry(folder: int, name: bytes, wanted: tuple[int, int]) -> bool:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:  # gone, or never there
        return False
    return (status.st_dev, status.st_ino) == wanted


@dataclass(slots=True)
class Spot:
    """A folder of the guest's tree: the name it was reached by, and what it is made of.

    `node` is the kernel's own part of it.  `layers` are folders of the host; what the first lacks
    is looked for in the next.  With neither it is there because a grant lies below it.
    """

    parts: Parts
    node: Directory | None = None
    layers: tuple[Layer, ...] = field(default_factory=tuple)

    def copy(self) -> Spot:
        """The same with descriptors of its own."""
        return Spot(self.parts, self.node, tuple(layer.copy() for layer in self.layers))

    def close(self) -> None:
        """Give up the descriptors."""
        layers, self.layers = self.layers, ()
        for layer in layers:
            os.close(layer.fd)

    def name(self) -> Parts:
        """Where it is now; ENOENT if it has been removed or is out of reach."""
        if not self.layers:
            return self.parts
        layer = self.layers[0]
        at = layer.mount.parts
        return at + layer.inside(self.parts[len(at) :])

    def listing(self) -> list[bytes]:
        """The names of its entries in the host's folders, each once."""
        names: dict[bytes, None] = {}
        for layer in self.layers:
            names |= dict.fromkeys(_entries(layer.fd))
        return list(names)


def _entries(folder: int) -> list[bytes]:
    """The names in a folder; its descriptor need not be one to read."""
    try:
        fd = os.open(b".", os.O_RDONLY | _LIST_FLAGS, dir_fd=folder)
        try:
            return [os.fsencode(name) for name in os.listdir(fd)]
        finally:
            os.close(fd)
    except OSError as error:
        raise from_host(error) from None
