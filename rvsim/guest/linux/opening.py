"""From a place in the guest's tree to an open file."""

from __future__ import annotations

import os
import stat
from typing import Final

from rvsim.guest.linux.errno import (
    EACCES,
    EEXIST,
    EISDIR,
    ELOOP,
    ENOENT,
    ENOTDIR,
    EOPNOTSUPP,
    CallError,
    from_host,
)
from rvsim.guest.linux.files import (
    O_CREAT,
    O_DIRECTORY,
    O_EXCL,
    O_NOFOLLOW,
    O_TMPFILE,
    Folder,
    HostFile,
    OpenFile,
    host_flags,
    writes,
)
from rvsim.guest.linux.grants import FileTree
from rvsim.guest.linux.made import Made
from rvsim.guest.linux.nodes import DeviceNode, Magic, Text
from rvsim.guest.linux.places import Place
from rvsim.guest.linux.spots import Spot, guest_path
from rvsim.guest.linux.status import Status, status_of

_NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)


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
    if place.is_link:
        raise CallError(ELOOP)
    if isinstance(place.node, DeviceNode):
        return place.node.make(flags)
    if isinstance(place.node, Text):
        name = guest_path(place.parts)
        return Made(place.node.content, flags, name=name, status=place.status)
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
    return found.reopen(flags)


def _made(place: Place, flags: int, mode: int) -> OpenFile:
    if not flags & O_CREAT:
        raise place.missing()
    if flags & O_DIRECTORY:
        raise CallError(EISDIR)
    place.check_writable()
    return _host_file(place, flags, mode)


def _host_file(place: Place, flags: int, mode: int) -> OpenFile:
    folder, name = place.host()
    try:
        fd = os.open(name, host_flags(flags) | _NOFOLLOW, mode, dir_fd=folder)
    except OSError as error:
        raise from_host(error) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):  # something has taken the file's place meanwhile
        os.close(fd)
        raise CallError(EACCES)
    grant = None if place.layer is None else place.layer.mount
    return HostFile(fd, flags, name=guest_path(place.parts), grant=grant)


def open_folder(tree: FileTree, place: Place, flags: int) -> Folder:
    """Open a folder, which has to be one that may be listed."""
    spot = tree.into(place)
    spot = spot.copy() if spot is place.spot else spot
    try:
        spot.listing()
    except CallError:
        spot.close()
        raise
    node_status = place.require()

    def status() -> Status:
        return status_of(os.fstat(spot.layers[0].fd)) if spot.layers else node_status

    return Folder(spot, flags, status, lambda: tree.entries(spot))
