"""Whether LLVM can be used: it may be missing, or have too little address space.

LLVM ends the process where it gets no memory, so that has to be known before.
"""

from __future__ import annotations

import sys
from typing import Final

from rvsim.hart.address_space import address_space_left

_LIBRARY: Final = 256 << 20
"""Bytes of address space for LLVM's library and its first use."""

_REGION: Final = 96 << 20
"""For one region more."""


class NoLlvm(Exception):
    """No code can be compiled or linked, and why."""


def need_llvm() -> None:
    """Import LLVM if it isn't yet; `NoLlvm` where that can't be, or the next region can't."""
    needed = _REGION if "llvmlite.binding" in sys.modules else _LIBRARY
    left = address_space_left()
    if left < needed:
        raise NoLlvm(
            f"ulimit -v leaves {left >> 20} MiB of address space, and LLVM needs {needed >> 20}"
        )
    try:
        import llvmlite.binding  # noqa: F401
    except (ImportError, OSError) as error:
        raise NoLlvm(f"llvmlite cannot be loaded: {' '.join(str(error).split())}") from None
