"""What rvsim keeps from one run to the next: where, and for which version of its own source."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

_LOADED_AT: Final = time.time()
"""When this process began to import rvsim, whose first import this module is."""

_NOT_CODE: Final = frozenset({"cli", "guest", "page", "perf", "trace", "__pycache__"})
"""Folders of the package that have no say in what the engines generate."""


def cache_folder() -> Path:
    """The user's folder for built kernels and compiled code; RVSIM_CACHE_DIR chooses another."""
    chosen = os.environ.get("RVSIM_CACHE_DIR")
    if chosen:
        return Path(chosen)
    import platformdirs  # takes as long as all else that the command line imports

    return platformdirs.user_cache_path("rvsim", appauthor=False)


@cache
def source_digest() -> str | None:
    """A digest of the source that generates code, or None where it isn't what this process runs.

    That is so where a file was changed after its import, and where the files aren't there at all.
    """
    if not os.path.isfile(__file__) or not __file__.endswith(".py"):
        return None
    digest = sha256()
    for path in _sources(os.path.dirname(os.path.dirname(__file__))):
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_mtime >= _LOADED_AT:
                return None
            content = file.read()
        digest.update(f"{os.path.basename(path)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources(folder: str) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.endswith(".py"):
            yield entry.path
        elif entry.is_dir() and entry.name not in _NOT_CODE:
            yield from _sources(entry.path)
