"""Reading files whose place others may have prepared: no pipe, device, link or endless one."""

from __future__ import annotations

import os
import stat
from typing import Final

_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer is opened, and then refused
    | getattr(os, "O_BINARY", 0)
)


def is_own_file(path: str | os.PathLike[str]) -> bool:
    """Whether it is there, a regular file and no link, and belongs to this user."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and _is_own(found)


def read_regular(path: str | os.PathLike[str], most: int, *, own: bool = False) -> bytes:
    """The content of a regular file that has at most so many bytes, and never waits for any.

    With `own` it has to belong to this user.  Raises OSError, which says why, for any other.
    """
    with open(os.open(path, _FLAGS), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "not a regular file")
        if own and not _is_own(found):
            raise PermissionError(0, "the file of another user")
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(0, f"more than {most} bytes")
    return content


def _is_own(found: os.stat_result) -> bool:
    return not hasattr(os, "getuid") or found.st_uid == os.getuid()
