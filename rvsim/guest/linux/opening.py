"""From a place in the guest's tree to an open file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Final

from rvsim.guest.linux.errno import (
    EACCES,
    EEXIST,
    EINVAL,
    EISDIR,
    ELOOP,
    ENOENT,
    ENOTDIR,
    EOPNOTSUPP,
    CallError,
    from_host,
)
from rvsim.guest.linux.file_nodes import DeviceNode, Magic
from rvsim.guest.linux.files import (
    O_CLOEXEC,
    O_CREAT,
    O_DIRECTORY,
    O_EXCL,
    O_LARGEFILE,
    O_NOFOLLOW,
    O_PATH,
    O_TMPFILE,
    Folder,
    HostFile,
    OpenFile,
    host_flags,
    writes,
)
from rvsim.guest.linux.grants import FileTree
from rvsim.guest.linux.made import Made
from rvsim.guest.linux.nodes import Link, Node, Text
from rvsim.guest.linux.places import Place
from rvsim.guest.linux.spots import Spot, guest_path
from rvsim.guest.linux.status import Status, status_of

_NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
_HOST_PATH: Final[int] = getattr(os, "O_PATH", 0)

_PATH_FLAGS: Final = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC


def opening_flags(flags: int) -> int:
    """The flags of `openat` as Linux takes them: O_PATH leaves few others a meaning."""
    if flags & O_PATH:
        return flags & _PATH_FLAGS
    if flags & O_CREAT and flags & O_DIRECTORY:
        raise CallError(EINVAL)
    return flags | O_LARGEFILE


def open_place(tree: FileTree, place: Place, flags: int, mode: int) -> OpenFile:
    """Open what is at a place, or make a file there; `mode` is what a new one may do."""
    if flags & O_TMPFILE:
        raise CallError(EOPNOTSUPP)
    if place.status is None:
        return _made(place, flags, mode)
    if flags & O_CREAT and flags & O_EXCL:
        raise CallError(EEXIST)
    if isinstance(place.node, Magic) and not flags & O_NOFOLLOW:
        return _reopened(place.node, flags)
    if place.is_folder:
        if writes(flags) or flags & O_CREAT:
            raise CallError(EISDIR)
        return open_folder(tree, place, flags)
    if flags & O_DIRECTORY:
        raise CallError(ENOTDIR)
    if flags & O_PATH:
        return _path(place, flags)
    if place.node is not None:
        return _node_file(place.node, flags, guest_path(place.parts), place.status)
    if place.is_link:
        raise CallError(ELOOP)
    if writes(flags):
        place.check_writable()
    if not stat.S_ISREG(place.status.mode):
        raise CallError(EACCES)  # a device, pipe or socket of the host is not even opened
    return _host_file(place, flags, mode)


def _reopened(link: Magic, flags: int) -> OpenFile:
    found = link.leads_to()
    if isinstance(found, Spot):  # the walk enters those
        raise CallError(ENOENT)
    if flags & O_DIRECTORY:
        raise CallError(ENOTDIR)
    if flags & O_PATH and not isinstance(found, (HostFile, PathTo)):
        return PathTo(flags, found.shown_name(), found.status, found.reopen)
    return found.reopen(flags)


def _made(place: Place, flags: int, mode: int) -> OpenFile:
    if not flags & O_CREAT:
        raise place.missing()
    place.check_writable()
    return _host_file(place, flags, mode)


def _path(place: Place, flags: int) -> OpenFile:
    """What stands for a place and is not opened, so that it may be anything."""
    name = guest_path(place.parts)
    node, status = place.node, place.require()
    if node is not None:
        return PathTo(
            flags, name, lambda: status, lambda more: _node_file(node, more, name, status), node
        )
    grant = None if place.layer is None else place.layer.mount
    return HostFile(_opened(place, host_flags(0) | _HOST_PATH, 0), flags, name=name, grant=grant)


class PathTo(OpenFile):
    """What is not opened (O_PATH): a file of the kernel's, or one that is open already."""

    def __init__(
        self,
        flags: int,
        name: bytes,
        status: Callable[[], Status],
        open_it: Callable[[int], OpenFile],
        link: Node | None = None,
    ) -> None:
        super().__init__(flags)
        self.name = name
        self._status = status
        self._open_it = open_it
        self._link = link

    def status(self) -> Status:
        return self._status()

    def link_text(self) -> bytes:
        return self._link.target() if isinstance(self._link, Link) else super().link_text()

    def reopen(self, flags: int) -> OpenFile:
        if flags & O_PATH:
            return PathTo(flags, self.name, self._status, self._open_it, self._link)
        return self._open_it(flags)


def _node_file(node: Node, flags: int, name: bytes, status: Status) -> OpenFile:
    if isinstance(node, DeviceNode):
        return node.make(flags)
    if isinstance(node, Text):
        return Made(node.content, flags, name=name, status=status)
    raise CallError(ELOOP)


def _opened(place: Place, flags: int, mode: int) -> int:
    """A descriptor of what the host has at a place, which is no link."""
    folder, name = place.host()
    try:
        return os.open(name, flags | _NOFOLLOW, mode, dir_fd=folder)
    except OSError as error:
        raise from_host(error) from None


def _host_file(place: Place, flags: int, mode: int) -> OpenFile:
    fd = _opened(place, host_flags(flags), mode)
    if not stat.S_ISREG(os.fstat(fd).st_mode):  # something has taken the file's place meanwhile
        os.close(fd)
        raise CallError(EACCES)
    grant = None if place.layer is None else place.layer.mount
    return HostFile(fd, flags, name=guest_path(place.parts), grant=grant)


def open_folder(tree: FileTree, place: Place, flags: int) -> Folder:
    """Open a folder, which has to be one that may be listed if it is more than a path."""
    spot = tree.into(place)
    spot = spot.copy() if spot is place.spot else spot
    try:
        if not flags & O_PATH:
            spot.listing()
    except CallError:
        spot.close()
        raise
    node_status = place.require()

    def status() -> Status:
        return status_of(os.fstat(spot.layers[0].fd)) if spot.layers else node_status

    return Folder(spot, flags, status, lambda: tree.entries(spot))
