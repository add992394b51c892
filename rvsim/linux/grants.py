"""What the guest sees of the host's files: the granted folders, and nothing else.

A guest path is walked one component at a time.  The host never follows a link and never sees
``..``: both are resolved here, in the guest's own tree of names, so a link can only lead to what is
granted anyway.  The host opens each component relative to its parent's descriptor and refuses a
link there (``O_NOFOLLOW``), so a file that is swapped for a link meanwhile is an error, no escape.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rvsim.errors import RvsimError
from rvsim.linux.errno import (
    EACCES,
    ELOOP,
    ENAMETOOLONG,
    ENOENT,
    ENOTDIR,
    EROFS,
    CallError,
    from_host,
)

Parts = tuple[bytes, ...]


class OutsideError(CallError):
    """EACCES because no grant covers a path."""

    def __init__(self) -> None:
        super().__init__(EACCES)


_MOST_LINKS: Final = 40
_LONGEST_PATH: Final = 4096
_FOLDER: Final[int] = (
    getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_PATH", 0)
)


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


@dataclass(frozen=True, slots=True)
class _Mount:
    """A granted folder: its guest name, and an open descriptor that names it for good."""

    parts: Parts
    root: int
    writable: bool
    sysroot: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a guest path leads: a name without links or ``..``, and what is there now.

    `inside` is the path below the mount's root, and `status` None if only the folder above exists.
    A folder that exists only because a grant lies below it has no `mount`.
    """

    parts: Parts
    mount: _Mount | None
    inside: Parts
    status: os.stat_result | None

    @property
    def is_folder(self) -> bool:
        """Whether there is a folder here."""
        return self.mount is None or (self.status is not None and stat.S_ISDIR(self.status.st_mode))

    @property
    def is_link(self) -> bool:
        """Whether there is a symbolic link here."""
        return self.status is not None and stat.S_ISLNK(self.status.st_mode)

    @contextmanager
    def parent(self, *, write: bool = False) -> Iterator[tuple[int, bytes]]:
        """A descriptor of the folder above on the host, and the name in it.

        With `write`, EROFS unless the grant is one to write.
        """
        if self.mount is None or (write and not self.inside):
            raise CallError(EACCES)  # a change of the granted folder's own entry is one outside it
        if write and not self.mount.writable:
            raise CallError(EROFS)
        with _opened(self.mount.root, self.inside[:-1]) as folder:
            yield folder, self.inside[-1] if self.inside else b"."


def guest_path(parts: Parts) -> bytes:
    """The absolute path that the parts make."""
    return b"/" + b"/".join(parts)


class FileTree:
    """The guest's file names: grants, and the files of a system root for dynamic programs."""

    def __init__(
        self, grants: Sequence[Grant] = (), *, sysroot: str | None = None, cwd: str | None = None
    ) -> None:
        self._mounts: list[_Mount] = []
        if grants or sysroot is not None:
            _require_posix()
        try:
            for grant in grants:
                self._add(grant)
            if sysroot is not None:
                root = _open_folder(sysroot, "-L")
                self._mounts.append(_Mount((), root, writable=False, sysroot=True))
        except RvsimError:
            self.close()
            raise
        self._mounts.sort(key=lambda m: (-len(m.parts), not m.sysroot))
        start = _host_folder() if cwd is None else _split(os.fsencode(cwd))
        reached = self._mount_of(start) is not None or self._is_above_a_mount(start)
        self.cwd: Parts = start if reached else ()
        """The working directory: the host's where a grant reaches it, otherwise the root."""

    def close(self) -> None:
        """Give up the folders."""
        for mount in self._mounts:
            os.close(mount.root)
        self._mounts.clear()

    def _add(self, grant: Grant) -> None:
        guest = os.path.abspath(grant.host) if grant.guest is None else grant.guest
        if not guest.startswith("/") or ".." in guest.split("/"):
            raise RvsimError(
                f"folder grant: guest name {guest!r} is not an absolute path",
                hint="write HOST:/GUEST[:rw]",
            )
        parts = _split(os.fsencode(guest))
        if any(m.parts == parts for m in self._mounts):
            shown = os.fsdecode(guest_path(parts))
            raise RvsimError(f"folder grant: two folders are to be {shown} for the guest")
        self._mounts.append(_Mount(parts, _open_folder(grant.host, "--dir"), grant.writable))

    # Names to mounts

    def _mounts_of(self, parts: Parts) -> Iterator[_Mount]:
        """The mounts that hold a path, the one to ask first first."""
        for mount in self._mounts:
            if parts[: len(mount.parts)] == mount.parts:
                yield mount
                if not mount.sysroot:  # only a file that the sysroot lacks is looked for elsewhere
                    return

    def _mount_of(self, parts: Parts) -> _Mount | None:
        return next((m for m in self._mounts_of(parts) if not m.sysroot), None)

    def _is_above_a_mount(self, parts: Parts) -> bool:
        return any(
            len(parts) < len(m.parts) and m.parts[: len(parts)] == parts for m in self._mounts
        )

    def _look(self, parts: Parts) -> Place:
        """What is at a path without links; EACCES if no grant covers it."""
        missing: Place | None = None
        for mount in self._mounts_of(parts):
            inside = parts[len(mount.parts) :]
            try:
                with _opened(mount.root, inside[:-1]) as folder:
                    name = inside[-1] if inside else b"."
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                return Place(parts, mount, inside, status)
            except CallError as error:
                if error.code != ENOENT and not mount.sysroot:
                    raise
            except OSError as error:
                if error.errno != errno.ENOENT and not mount.sysroot:
                    raise from_host(error) from None
            if not mount.sysroot:
                missing = Place(parts, mount, inside, None)
        if self._is_above_a_mount(parts) or (not parts and self._mounts):
            return Place(parts, None, (), None)
        if missing is None:
            raise OutsideError
        return missing

    def _link(self, place: Place) -> bytes:
        with place.parent() as (folder, name):
            try:
                return os.readlink(name, dir_fd=folder)
            except OSError as error:
                raise from_host(error) from None

    # The walk

    def find(self, path: bytes, start: Parts | None = None, *, follow: bool = True) -> Place:
        """Where `path` leads, from the folder `start` (the working directory) if it is relative.

        `follow` is for a link in its last component.  Raises `CallError`: ENOENT for a folder on
        the way that does not exist, EACCES as soon as the way leaves the grants.
        """
        if not path:
            raise CallError(ENOENT)
        if len(path) >= _LONGEST_PATH:
            raise CallError(ENAMETOOLONG)
        base = () if path.startswith(b"/") else self.cwd if start is None else start
        needs_folder = path.endswith((b"/", b"/."))
        place = self._walk(base, path, follow or needs_folder)
        if needs_folder and place.status is not None and not place.is_folder:
            raise CallError(ENOTDIR)
        return place

    def _walk(self, base: Parts, path: bytes, follow: bool) -> Place:
        parts, links = base, 0
        todo = list(_split(path)[::-1])
        place: Place | None = None
        while todo:
            name = todo.pop()
            if name == b"..":
                parts, place = parts[:-1], None
                continue
            place = self._look((*parts, name))
            if place.is_link and (todo or follow):
                links += 1
                if links > _MOST_LINKS:
                    raise CallError(ELOOP)
                target = self._link(place)
                if target.startswith(b"/"):
                    parts = ()
                todo += _split(target)[::-1]
                place = None
                continue
            if todo and not place.is_folder:
                raise CallError(ENOENT if place.status is None else ENOTDIR)
            parts = place.parts
        return self._look(parts) if place is None else place

    def readlink(self, path: bytes, start: Parts | None = None) -> bytes | None:
        """The target of a link as it is written; None if there is something else."""
        place = self.find(path, start, follow=False)
        if place.mount is not None and place.status is None:
            raise CallError(ENOENT)
        return self._link(place) if place.is_link else None


def _host_folder() -> Parts:
    try:
        return _split(os.fsencode(os.getcwd()))
    except OSError:  # it has been removed
        return ()


def _split(path: bytes) -> Parts:
    return tuple(part for part in path.split(b"/") if part not in (b"", b"."))


@contextmanager
def _opened(root: int, parts: Parts) -> Iterator[int]:
    """A descriptor of the folder at `parts` below `root`, no component of which may be a link."""
    current, opened = root, -1
    try:
        for part in parts:
            try:
                below = os.open(part, os.O_RDONLY | _FOLDER, dir_fd=current)
            except OSError as error:
                raise from_host(error) from None
            if opened >= 0:
                os.close(opened)
            current = opened = below
        yield current
    finally:
        if opened >= 0:
            os.close(opened)


def _open_folder(path: str, option: str) -> int:
    try:
        flags = _FOLDER & ~getattr(os, "O_NOFOLLOW", 0)  # what the user names may be a link
        return os.open(path, os.O_RDONLY | flags)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise RvsimError(
            f"{option}: cannot use the folder {path}: {why}", hint="name a folder that exists"
        ) from None


def _require_posix() -> None:
    if os.open not in os.supports_dir_fd or os.stat not in os.supports_dir_fd:
        raise RvsimError("this host cannot open files relative to a folder, so none can be granted")
