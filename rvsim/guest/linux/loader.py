"""The dynamic loader of a program that needs one, and the libraries that it does not find."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rvsim.errors import RvsimError
from rvsim.guest.elf import ExecutableFile, Image, load_elf
from rvsim.guest.linux.errno import EACCES, ERROR_NAMES, CallError
from rvsim.guest.linux.files import HostFile
from rvsim.guest.linux.grants import FileTree
from rvsim.guest.linux.opening import open_place
from rvsim.hart.memory import Memory
from rvsim.printable import printable

_LIBRARY: Final = re.compile(rb"\.so(\.[0-9.]+)?$")
_DEBIAN: Final = "Debian's libc6-riscv64-cross puts one in /usr/riscv64-linux-gnu"


def load_loader(
    image: Image, tree: FileTree, memory: Memory, *, below: int, sysroot: str | None
) -> Image | None:
    """Load what the program's PT_INTERP names; None if it is a static program."""
    if image.interp is None:
        return None
    needs = f"{image.name} needs the dynamic loader {image.interp}"
    if sysroot is None:
        raise RvsimError(
            needs, hint="name the folder that has it with -L SYSROOT, or link it with -static"
        )
    try:
        with tree.find(os.fsencode(image.interp)) as place:
            file = open_place(tree, place, 0, 0)
        try:
            if not isinstance(file, HostFile):
                raise CallError(EACCES)
            source = ExecutableFile(os.fsencode(image.interp), file.host_status(), file.read_all())
        finally:
            file.close()
    except CallError as error:
        raise _no_loader(needs, sysroot, ERROR_NAMES[error.code]) from None
    loader = load_elf(source.content, memory, name=f"{sysroot}{image.interp}", below=below)
    if loader.interp is not None:
        raise RvsimError(f"{loader.name}: the dynamic loader needs a loader itself")
    return replace(loader, source=source)


def _no_loader(needs: str, sysroot: str, why: str) -> RvsimError:
    return RvsimError(
        f"{needs}, which is not below {sysroot} ({why})",
        hint=f"-L SYSROOT names the folder that has it: {_DEBIAN}",
    )


def looks_like_library(path: bytes) -> bool:
    """Whether a path names a shared library.

    >>> looks_like_library(b"/lib/libc.so.6"), looks_like_library(b"/etc/ld.so.cache")
    (True, False)
    """
    return _LIBRARY.search(path) is not None


def missing_library(paths: Sequence[bytes], sysroot: str | None) -> str:
    """The last library that was not found, and where the loader looked for it."""
    name = os.path.basename(paths[-1])
    folders = dict.fromkeys(os.path.dirname(p) for p in paths if os.path.basename(p) == name)
    shown = ", ".join(map(printable, folders))
    return (
        f"the dynamic loader did not find {printable(name)} in {shown} below {sysroot}:"
        " -L SYSROOT names the folder that has it, and --dir grants others"
    )
