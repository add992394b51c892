"""What a file says of the hart that it was compiled for, beside the hart that runs it.

Compilers write the attribute ``Tag_RISCV_arch`` (psABI, "Attributes").  Code that was compiled for
a longer VLEN may give wrong results without any trap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rvsim.config import Config
from rvsim.profiles import gives

_VERSION: Final = re.compile(r"\d+p\d+$")
_VLEN: Final = re.compile(r"zvl(\d+)b")
_TAG: Final = "Tag_RISCV_arch"
_SUPERVISOR: Final = "s"
"""Extensions of this letter are for the operating system."""


def extensions_of(arch: str) -> list[str]:
    """The names in an attribute, or none if it is no such text.

    >>> extensions_of("rv64i2p1_m2p0_v1p0_zvl256b1p0"), extensions_of("x86")
    (['i', 'm', 'v', 'zvl256b'], [])
    """
    if not arch.startswith("rv64"):
        return []
    names = [_VERSION.sub("", part) for part in arch.removeprefix("rv64").split("_")]
    return [name for name in names if name]


def remarks(arch: str | None, config: Config) -> Iterator[str]:
    """What the hart of this configuration lacks of what the file was compiled for."""
    names = extensions_of(arch or "")
    lengths = [int(found[1]) for name in names if (found := _VLEN.fullmatch(name))]
    wanted = max(lengths, default=0)
    if wanted > config.vlen:
        yield (
            f"the file's attribute {_TAG} has zvl{wanted}b: it was compiled for VLEN {wanted} or"
            f" more, and may give wrong results with {config.vlen}: run it with --vlen {wanted}"
        )
    others = [n for n in names if not _VLEN.fullmatch(n) and not n.startswith(_SUPERVISOR)]
    lacking = [name for name in others if not gives(config.extensions, name)]
    if lacking:
        yield (
            f"the file's attribute {_TAG} has {', '.join(lacking)}, which this hart lacks:"
            " where it is used, the instruction is illegal: --cpu or --isa choose another hart"
        )
