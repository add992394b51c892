"""What the guest sees of the host's files: the granted folders, and nothing else.

A guest path is walked one component at a time, from one open folder to the next.  The host never
follows a link: that is done here, in the guest's own tree of names, so a link can only lead to what
is granted anyway.  The host opens each component relative to its parent's descriptor and refuses a
link there (``O_NOFOLLOW``), so a file that is swapped for a link meanwhile is an error, no escape.
``..`` leads out of no grant: `rvsim.guest.linux.spots` asks the host whether the parent is within.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rvsim.errors import RvsimError
from rvsim.guest.linux.errno import (
    ELOOP,
    ENAMETOOLONG,
    ENOENT,
    ENOTDIR,
    CallError,
    from_host,
)
from rvsim.guest.linux.file_nodes import Magic
from rvsim.guest.linux.nodes import Directory
from rvsim.guest.linux.places import ITSELF, Place
from rvsim.guest.linux.spots import FOLDER_FLAGS, Layer, Mount, Parts, Spot, guest_path
from rvsim.guest.linux.status import Status, status_of

_MOST_LINKS: Final = 40
_LONGEST_PATH: Final = 4096
_ABOVE_A_GRANT: Final = Directory(dict)
"""A folder that is only there because a grant lies below it."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A folder of the host that the guest may use, under a name of its own if `guest` gives one."""

    host: str
    guest: str | None = None
    writable: bool = False

    @staticmethod
    def parse(text: str) -> Grant:
        """The grant that ``HOST[:GUEST][:rw]`` asks for.

        >>> Grant.parse("models:/models")
        Grant(host='models', guest='/models', writable=False)
        >>> Grant.parse("out:rw").writable
        True
        """
        parts = text.split(":")
        access = parts.pop() if parts[-1] in ("rw", "ro") and len(parts) > 1 else "ro"
        if len(parts) > 2 or not all(parts):
            raise RvsimError(
                f"folder grant {text!r} is not understood", hint="write HOST[:GUEST][:rw]"
            )
        return Grant(parts[0], parts[1] if len(parts) == 2 else None, access == "rw")


class FileTree:
    """The guest's file names: grants, a system root for dynamic programs, the kernel's own."""

    def __init__(
        self,
        grants: Sequence[Grant] = (),
        *,
        sysroot: str | None = None,
        cwd: str | None = None,
        kernel: Directory = _ABOVE_A_GRANT,
    ) -> None:
        self.mounts: list[Mount] = []
        """The granted folders, the deepest first."""
        self._kernel = kernel
        self.cwd = Spot(())
        """The working directory: the host's where a grant reaches it, otherwise the root."""
        if grants or sysroot is not None:
            _require_posix()
        try:
            for grant in grants:
                self._add(grant)
            if sysroot is not None:
                root = _open_folder(sysroot, "-L")
                self.mounts.append(Mount((), root, writable=False, sysroot=True))
        except RvsimError:
            self.close()
            raise
        # only what the sysroot lacks is looked for in a grant of the root
        self.mounts.sort(key=lambda m: (-len(m.parts), not m.sysroot))
        self.cwd = self._start_folder(_host_folder() if cwd is None else os.fsencode(cwd))

    def close(self) -> None:
        """Give up the folders."""
        self.cwd.close()
        for mount in self.mounts:
            os.close(mount.root)
        self.mounts.clear()

    def _add(self, grant: Grant) -> None:
        guest = os.path.abspath(grant.host) if grant.guest is None else grant.guest
        if not guest.startswith("/") or ".." in guest.split("/"):
            raise RvsimError(
                f"folder grant: guest name {guest!r} is not an absolute path",
                hint="write HOST:/GUEST[:rw]",
            )
        parts = _split(os.fsencode(guest))
        if any(m.parts == parts for m in self.mounts):
            shown = os.fsdecode(guest_path(parts))
            raise RvsimError(f"folder grant: two folders are to be {shown} for the guest")
        self.mounts.append(Mount(parts, _open_folder(grant.host, "--dir"), grant.writable))

    def _start_folder(self, path: bytes) -> Spot:
        try:
            return self.enter(path)
        except CallError:
            return self._root()

    def move(self, spot: Spot) -> None:
        """Make a folder the working directory; the tree takes it over."""
        self.cwd.close()
        self.cwd = spot

    # From a folder to its entries

    def _root(self) -> Spot:
        return self._mounted((), self._kernel)

    def _mounted(self, parts: Parts, node: Directory | None) -> Spot:
        """The folder at a name that grants or the kernel have chosen."""
        return Spot(parts, node, tuple(m.layer() for m in self.mounts if m.parts == parts))

    def below(self, parts: Parts) -> list[bytes]:
        """The names in a folder that lead to grants."""
        depth = len(parts)
        return [m.parts[depth] for m in self.mounts if self._is_above(parts, m)]

    @staticmethod
    def _is_above(parts: Parts, mount: Mount) -> bool:
        return len(parts) < len(mount.parts) and mount.parts[: len(parts)] == parts

    def holds_a_grant(self, parts: Parts) -> bool:
        """Whether a grant lies at or below a name, which so has to stay."""
        return any(m.parts[: len(parts)] == parts for m in self.mounts)

    def _look(self, spot: Spot, name: bytes) -> Place:
        """The entry `name` of a folder, which has a spot of its own if it is a grant's root."""
        parts = (*spot.parts, name)
        node = None if spot.node is None else spot.node.entries().get(name)
        chosen = any(m.parts == parts for m in self.mounts)
        if chosen or isinstance(node, Directory):
            entered = self._mounted(parts, node if isinstance(node, Directory) else None)
            return _itself(entered)
        if node is not None:
            return Place(spot, name, node=node, status=node.status(guest_path(parts)))
        for layer in spot.layers:
            status = _status_in(layer, name)
            if status is not None:
                return Place(spot, name, layer, status=status)
        if self.below(parts):
            return _itself(Spot(parts))
        return Place(spot, name, spot.layers[-1] if spot.layers else None)

    def entries(self, spot: Spot) -> list[tuple[bytes, int, int]]:
        """(name, inode, type) of what is in a folder."""
        kernel = [] if spot.node is None else list(spot.node.entries())
        names = dict.fromkeys((*spot.listing(), *kernel, *self.below(spot.parts)))
        found = ((name, self._status(spot, name)) for name in names)
        return [(n, s.inode, stat.S_IFMT(s.mode)) for n, s in found if s is not None]

    def _status(self, spot: Spot, name: bytes) -> Status | None:
        place = self._look(spot, name)
        if place.spot is not spot:
            place.spot.close()
        return place.status

    def into(self, place: Place) -> Spot:
        """The folder that a place is: its own spot, or a new one, which the caller closes."""
        status = place.require()
        if place.is_spot:
            return place.spot
        if not stat.S_ISDIR(status.mode) or place.layer is None:
            raise CallError(ENOTDIR)
        spot = Spot(place.parts)
        try:
            first = place.spot.layers.index(place.layer)
            for layer in place.spot.layers[first:]:
                _add_layer(spot, layer, place.name, optional=layer is not place.layer)
        except CallError:
            spot.close()
            raise
        return spot

    def _above(self, spot: Spot) -> Spot:
        """The folder above: of the host below a grant's root, by the guest's name elsewhere."""
        found = [above for layer in spot.layers if (above := layer.above()) is not None]
        if not found:
            parts = spot.layers[0].mount.parts if spot.layers else spot.parts
            return self.enter(guest_path(parts[:-1]))
        if found[0].is_root:  # with the kernel's part of it, and all layers
            Spot((), layers=tuple(found)).close()
            return self.enter(guest_path(found[0].mount.parts))
        return self._renamed(Spot(spot.parts[:-1], None, tuple(found)))

    def _renamed(self, spot: Spot) -> Spot:
        """A spot with the name that it has now, if that matters: where grants lie below."""
        if spot.layers and self.below(spot.layers[0].mount.parts):
            try:
                spot.parts = spot.name()
            except CallError:
                spot.close()
                raise
        return spot

    # The walk

    def find(self, path: bytes, start: Spot | None = None, *, follow: bool = True) -> Place:
        """Where `path` leads, from the folder `start` (the working directory) if it is relative.

        `follow` is for a link in its last component.  Raises `CallError`: ENOENT for a folder on
        the way that does not exist, which is an `OutsideError` where the way leaves the grants.
        """
        if not path:
            raise CallError(ENOENT)
        if len(path) >= _LONGEST_PATH:
            raise CallError(ENAMETOOLONG)
        if path.startswith(b"/"):
            base = self._root()
        else:
            base = self._renamed((self.cwd if start is None else start).copy())
        needs_folder = path.endswith((b"/", b"/."))
        place = self._walk(base, path, follow or needs_folder)
        if needs_folder and place.status is not None and not place.is_folder:
            place.spot.close()
            raise CallError(ENOTDIR)
        return place

    def enter(self, path: bytes, start: Spot | None = None) -> Spot:
        """The folder at a path; the caller closes it."""
        with self.find(path, start) as place:
            spot = self.into(place)
            return spot.copy() if spot is place.spot else spot

    def _walk(self, spot: Spot, path: bytes, follow: bool) -> Place:
        """The place that a path leads to from a spot, which the walk takes over."""
        links = 0
        todo = list(_split(path)[::-1])
        try:
            while todo:
                name = todo.pop()
                if name == b"..":
                    spot = _moved(spot, self._above(spot))
                    continue
                place = self._look(spot, name)
                if place.is_link and (todo or follow):
                    links += 1
                    if links > _MOST_LINKS:
                        raise CallError(ELOOP)
                    target = _magic_spot(place)
                    if target is not None:
                        spot = _moved(spot, self._renamed(target))
                    elif isinstance(place.node, Magic):
                        if todo:
                            raise CallError(ENOTDIR)
                        return place
                    else:
                        text = place.link_text()
                        if text.startswith(b"/"):
                            spot = _moved(spot, self._root())
                        todo += _split(text)[::-1]
                    continue
                if not todo and not place.is_spot:
                    return place
                spot = _moved(spot, self.into(place))
        except CallError:
            spot.close()
            raise
        return _itself(spot)


def _itself(spot: Spot) -> Place:
    """The place that a folder is."""
    if spot.layers:
        layer = spot.layers[0]
        return Place(spot, ITSELF, layer, spot.node, status_of(os.fstat(layer.fd)))
    node = spot.node or _ABOVE_A_GRANT
    return Place(spot, ITSELF, None, node, node.status(guest_path(spot.parts)))


def _moved(old: Spot, new: Spot) -> Spot:
    if old is not new:
        old.close()
    return new


def _magic_spot(place: Place) -> Spot | None:
    """A copy of the folder that a magic link leads to; None if it is no such link."""
    if not isinstance(place.node, Magic):
        return None
    found = place.node.leads_to()
    spot = found if isinstance(found, Spot) else found.spot
    return None if spot is None else spot.copy()


def _status_in(layer: Layer, name: bytes) -> Status | None:
    """What a folder of the host has under a name; a sysroot's errors count as nothing."""
    try:
        return status_of(os.stat(name, dir_fd=layer.fd, follow_symlinks=False))
    except OSError as error:
        if error.errno != errno.ENOENT and not layer.mount.sysroot:
            raise from_host(error) from None
    return None


def _add_layer(spot: Spot, above: Layer, name: bytes, *, optional: bool) -> None:
    try:
        spot.layers = (*spot.layers, above.below(name))
    except CallError:
        if not optional:
            raise


def _host_folder() -> bytes:
    try:
        return os.fsencode(os.getcwd())
    except OSError:  # it has been removed
        return b"/"


def _split(path: bytes) -> Parts:
    return tuple(part for part in path.split(b"/") if part not in (b"", b"."))


def _open_folder(path: str, option: str) -> int:
    try:
        flags = FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0)  # what the user names may be a link
        return os.open(path, os.O_RDONLY | flags)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise RvsimError(
            f"{option}: cannot use the folder {path}: {why}", hint="name a folder that exists"
        ) from None


def _require_posix() -> None:
    if os.open not in os.supports_dir_fd or os.stat not in os.supports_dir_fd:
        raise RvsimError("this host cannot open files relative to a folder, so none can be granted")
