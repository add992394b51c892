"""Where an output file goes: settled before the guest runs, which may rename what is there.

A guest with a writable grant can put links in the place of files and folders.  So the folder is
opened once, and whatever is done to the file later goes by that descriptor and a plain name.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

_CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL
_FOLDER: Final[int] = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


class OutputPlace:
    """A name in a folder that stays the same one, whatever it is renamed to.

    Raises `OSError` as the host does.  A host without descriptors of folders goes by the path.
    """

    def __init__(self, path: str) -> None:
        folder, self._name = os.path.split(path)
        self._folder: int | None = None
        if os.open in os.supports_dir_fd:
            self._folder = os.open(folder or ".", os.O_RDONLY | _FOLDER)
        else:
            self._name = path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give up the folder."""
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    def create_beside(self) -> tuple[int, str]:
        """A descriptor of a new file in the folder, which nobody else may read, and its name."""
        head, tail = os.path.split(self._name)
        name = os.path.join(head, f".{tail}.{secrets.token_hex(4)}")
        return os.open(name, _CREATE, 0o600, dir_fd=self._folder), name

    def replace_with(self, name: str) -> None:
        """Put a file of the folder in the place."""
        os.replace(name, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove(self, name: str | None = None) -> None:
        """Remove what is in the place, or a file of the folder; a link itself, and not its target.

        It may be gone already.
        """
        with suppress(FileNotFoundError):
            os.unlink(self._name if name is None else name, dir_fd=self._folder)
