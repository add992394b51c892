"""Where a guest path leads, before anything is done there."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from rvsim.guest.linux.errno import EACCES, EBUSY, ENOENT, EROFS, CallError, from_host
from rvsim.guest.linux.nodes import Link, Node
from rvsim.guest.linux.spots import Layer, Parts, Spot
from rvsim.guest.linux.status import Status

ITSELF: Final = b"."


class OutsideError(CallError):
    """ENOENT because no grant covers a path: what is not granted does not exist."""

    def __init__(self) -> None:
        super().__init__(ENOENT)


@dataclass(slots=True)
class Place:
    """Where a guest path leads: a folder, a name in it, and what is there now.

    The name is ``.`` for the folder itself.  `layer` is the folder of the host that has the entry,
    or would get it; none if only the kernel could.  A place holds its folder open: use it in
    ``with``.
    """

    spot: Spot
    name: bytes
    layer: Layer | None = None
    node: Node | None = None
    status: Status | None = None
    """None if nothing is there."""

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.spot.close()

    @property
    def parts(self) -> Parts:
        """The name it was reached by."""
        return self.spot.parts if self.is_spot else (*self.spot.parts, self.name)

    @property
    def is_spot(self) -> bool:
        """Whether it is the folder itself, and no entry of it."""
        return self.name == ITSELF

    @property
    def is_folder(self) -> bool:
        """Whether there is a folder here."""
        return self.status is not None and stat.S_ISDIR(self.status.mode)

    @property
    def is_link(self) -> bool:
        """Whether there is a symbolic link here."""
        return self.status is not None and stat.S_ISLNK(self.status.mode)

    def require(self) -> Status:
        """What is there; ENOENT if nothing is."""
        if self.status is None:
            raise self.missing()
        return self.status

    def missing(self) -> CallError:
        """The error of a name that is not there: whether a grant could have had it."""
        known = self.spot.node is not None and self.spot.parts
        inside = known or (self.layer is not None and not self.layer.mount.sysroot)
        return CallError(ENOENT) if inside else OutsideError()

    def check_writable(self) -> None:
        """EACCES where only the kernel makes files, EROFS where the grant is one to read."""
        if self.layer is None:
            raise CallError(EACCES)
        if not self.layer.mount.writable:
            raise CallError(EROFS)

    def host(self) -> tuple[int, bytes]:
        """A descriptor of the host's folder and the name in it."""
        assert self.layer is not None, "the kernel's own files have no host"
        return self.layer.fd, self.name

    def host_to_change(self) -> tuple[int, bytes]:
        """The same, if the entry may be changed; that of a grant itself is in use."""
        if self.is_spot:
            raise CallError(EBUSY)
        self.check_writable()
        return self.host()

    def shares_mount(self, other: Place) -> bool:
        """Whether one grant has both, so that an entry can move between them."""
        here, there = self.layer, other.layer
        return here is not None and there is not None and here.mount is there.mount

    def link_text(self) -> bytes:
        """The text of the link here."""
        if isinstance(self.node, Link):
            return self.node.target()
        folder, name = self.host()
        try:
            return os.readlink(name, dir_fd=folder)
        except OSError as error:
            raise from_host(error) from None
