"""Compiled regions from one run to the next: files that are checked before anything trusts them.

A folder of the cache holds the regions of one version of rvsim's source and one configuration.  A
file is named after the entry of its region (pc, mode, the code of the first block), the host, and
the code of the whole region, so that variants of a program stand side by side.  LLVM is not needed
to see that there is nothing: only a file that may fit makes it worth its import.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

from rvsim.config import Config
from rvsim.engine.jit.region import CompiledRegion
from rvsim.engine.traits import PLAIN, CodeTraits
from rvsim.hart.memory import Memory
from rvsim.host.cache_folder import cache_folder, source_digest
from rvsim.host.regular_file import read_regular

LIMIT: Final = 256 << 20
"""Bytes that the cache may take up; the files unused for longest go first."""

_VARIANTS: Final = 16
"""Regions with one entry that are kept at most."""

_DIGEST_BYTES: Final = 32


def region_folder() -> Path:
    """Where compiled code is kept; RVSIM_JIT_CACHE_DIR chooses another place for it alone."""
    chosen = os.environ.get("RVSIM_JIT_CACHE_DIR")
    return Path(chosen) if chosen else cache_folder() / "jit"


def why_unusable(folder: Path) -> str | None:
    """Why code can't be kept in a folder, which is made if need be; None where it can.

    Who can write there can make rvsim execute anything.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if not stat.S_ISDIR(found.st_mode):
        return f"{folder} is not a folder"
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        return f"{folder} belongs to another user"
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
        return f"{folder} is open to other users: chmod 700 it"
    return None


class RegionCache:
    """The compiled regions of one configuration and of the same traits on disk."""

    def __init__(
        self,
        root: Path,
        config: Config,
        source: str,
        traits: CodeTraits,
        *,
        limit: int = LIMIT,
    ) -> None:
        self._root = root
        self._folder = root / _folder_name(config, source, traits)
        self._limit = limit
        self._room: int | None = None
        """Bytes that may still be written before the size is looked at; None: look at once."""

    @cached_property
    def _names(self) -> dict[str, set[str]]:
        """The rest of the file names for each entry, as of the first look."""
        names: dict[str, set[str]] = {}
        with suppress(OSError):  # not there yet
            for name in os.listdir(self._folder):
                entry, _, rest = name.partition("-")
                names.setdefault(entry, set()).add(rest)
        return names

    def has(self, entry: str) -> bool:
        """Whether there is a file for an entry, be it of another host or for other code."""
        return entry in self._names

    def load(self, entry: str, host: str, memory: Memory) -> CompiledRegion | None:
        """A region with this entry for the code in the guest's memory."""
        for rest in sorted(self._names.get(entry, ())):
            if rest.startswith(f"{host}-"):
                path = self._folder / f"{entry}-{rest}"
                region = _checked(path)
                if region is None or _rest(host, region) != rest:
                    self._drop(entry, rest)
                elif region.is_for(memory):
                    with suppress(OSError):  # another process made room, or nothing is written here
                        os.utime(path)
                    return region
        return None

    def drop(self, entry: str, host: str, region: CompiledRegion) -> None:
        """Keep a region no longer: its code is none."""
        self._drop(entry, _rest(host, region))

    def _drop(self, entry: str, rest: str) -> None:
        self._names[entry].discard(rest)
        with suppress(OSError):  # it would be looked at in each run
            os.unlink(self._folder / f"{entry}-{rest}")

    def store(self, entry: str, host: str, region: CompiledRegion) -> None:
        """Keep a region; where it can't be written, the next run compiles it again."""
        rest = _rest(host, region)
        content = region.to_bytes()
        name = f"{entry}-{rest}"
        if why_unusable(self._folder) is None and _write(self._folder, name, content):
            self._names.setdefault(entry, set()).add(rest)
            self._make_room(len(content))

    def _make_room(self, written: int) -> None:
        if self._room is None or self._room < written:
            self._room = _shrink(self._root, self._limit)
        else:
            self._room -= written


def open_cache(
    config: Config,
    folder: Path | None = None,
    traits: CodeTraits = PLAIN,
) -> RegionCache | None:
    """The cache of a configuration; None where code can't be kept or has no known source."""
    root = region_folder() if folder is None else folder
    source = source_digest()
    if source is None or why_unusable(root):
        return None
    return RegionCache(root, config, source, traits)


def entry_name(pc: int, mode: int, code: bytes) -> str:
    """The name of a region that begins here with a block of this code."""
    return sha256(f"{pc} {mode} {code.hex()}".encode()).hexdigest()[:32]


def _folder_name(config: Config, source: str, traits: CodeTraits) -> str:
    choices = asdict(config) | {"extensions": sorted(config.extensions)} | asdict(traits)
    return sha256(f"{source} {choices}".encode()).hexdigest()[:32]


def _rest(host: str, region: CompiledRegion) -> str:
    """What the name of a region's file has after the entry."""
    return f"{host}-{int(region.digest, 16) % _VARIANTS:x}"


def _checked(path: Path) -> CompiledRegion | None:
    """The region in a file, if it is the user's and what was written under this name."""
    try:
        content = read_regular(path, LIMIT, own=True)
        digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        return CompiledRegion.from_bytes(body) if digest == _digest(path.name, body) else None
    except (OSError, ValueError, RecursionError):  # the latter of nested JSON
        return None


def _write(folder: Path, name: str, body: bytes) -> bool:
    """Write a file that appears whole or not at all; whether that went well."""
    try:
        handle, partial = tempfile.mkstemp(dir=folder, prefix=".")
    except OSError:
        return False
    try:
        with open(handle, "wb") as file:
            file.write(_digest(name, body) + body)
        os.replace(partial, folder / name)
    except OSError:
        with suppress(OSError):
            os.unlink(partial)
        return False
    return True


def _digest(name: str, body: bytes) -> bytes:
    return sha256(name.encode() + body).digest()


def _shrink(root: Path, limit: int) -> int:
    """Remove what was unused for longest, down to 3/4 of the limit; the bytes then left of it."""
    files: list[tuple[float, int, str]] = []
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(OSError):  # another process makes room, too
                found = os.stat(os.path.join(folder, name))
                files.append((found.st_mtime, found.st_size, os.path.join(folder, name)))
    total = sum(size for _, size, _ in files)
    if total <= limit:
        return limit - total
    for _, size, path in sorted(files):
        with suppress(OSError):
            os.unlink(path)
        total -= size
        if total <= limit * 3 // 4:
            break
    return limit - total
