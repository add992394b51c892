"""Source files of a program: which ones may be read, and their lines.

An ELF file names its sources, and may name any file of the computer; but pages with source lines
are made to be sent.  So rvsim reads only files in known folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rvsim.host.package_data import data_path
from rvsim.host.regular_file import read_regular
from rvsim.printable import source_line

if TYPE_CHECKING:
    from rvsim.guest.lines import Lines
    from rvsim.perf import Profile

_LARGEST_SOURCE: Final = 1 << 24


class Sources:
    """The lines of source files in some folders; `left_out` names existing files outside them.

    Links are resolved first, so that none leads out of the folders.  Hidden files are not read.
    """

    def __init__(
        self, folders: Iterable[str | os.PathLike[str]] = (), lines: Lines | None = None
    ) -> None:
        self._known = lines
        self._folders = [Path(os.path.realpath(folder)) for folder in folders]
        self._lines = cache(self._read)
        self.left_out: set[str] = set()

    @staticmethod
    def of(profile: Profile, named: Iterable[str]) -> Sources:
        """The sources in the named folders, in the program's own, and of the bundled kernels."""
        folders: list[str | Path] = [*named, data_path("kernels")]
        if profile.image is not None:
            own = os.path.dirname(os.path.realpath(profile.image.name))
            if own != os.path.dirname(own):  # all files are below the root
                folders.append(own)
        return Sources(folders, profile.image.lines if profile.image is not None else None)

    def line(self, file: str, number: int) -> str:
        """The text of a source line; empty if the file is missing or may not be read."""
        lines = self._lines(file)
        return source_line(lines[number - 1]) if number <= len(lines) else ""

    def remarks(self) -> Iterator[str]:
        """Notes on what was left out, and how to show it."""
        if self._known is not None and self._known.why_unknown is not None:
            yield f"not all source lines are known: {self._known.why_unknown}"
        if self.left_out:
            names = ", ".join(sorted(self.left_out))
            text = "sources outside the program's folder are not read"
            yield f"{text}: {names}: --source-dir allows more"

    def _read(self, file: str) -> list[str]:
        try:
            path = Path(os.path.realpath(file))
            if not self._may_read(path):
                self.left_out |= {file} if path.exists() else set()
                return []
            return read_regular(path, _LARGEST_SOURCE).decode("utf-8", "replace").splitlines()
        except (OSError, ValueError):  # no such file, or not a valid file name
            return []

    def _may_read(self, path: Path) -> bool:
        return any(
            path.is_relative_to(folder)
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
            for folder in self._folders
        )
