"""The processor that compiled code is made for: this computer's, or a smaller one of its kind.

`RVSIM_HOST` or ``Machine(host=...)`` names it.  Whatever asks what compiled code may use asks one
`Host`, so that code for a smaller processor is made, cached and tested on a larger one.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from rvsim.errors import RvsimError, did_you_mean

VARIABLE: Final = "RVSIM_HOST"
NATIVE: Final = "native"
GENERIC: Final = "generic"

_V2: Final = frozenset({"cx16", "popcnt", "sahf", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3"})
_V3: Final = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}
_V4: Final = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
LEVELS: Final = {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""What the levels of the x86-64 psABI have beyond the first, as LLVM spells it."""

_VECTORS: Final = {"avx": frozenset({"avx2", "f16c", "fma"}), "avx512f": _V4 - _V3}
"""What belongs to the first of them: processors that have less are older, or rare."""

NAMES: Final = (NATIVE, *LEVELS, GENERIC)
_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}
_BASELINES: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "x86_64": ("x86-64", frozenset({"sse2"})),
    "aarch64": (GENERIC, frozenset({"neon"})),
}


@dataclass(frozen=True, slots=True)
class Host:
    """A processor: what it has, and how LLVM is told.

    `features` are those that it has, as LLVM spells them; `attributes` is LLVM's list, which may
    also take some away from what `cpu` has.

    >>> host = find_host("generic")
    >>> host.name, host.has("avx2")
    ('generic', False)
    """

    name: str
    arch: str
    triple: str
    cpu: str
    features: frozenset[str] = field(repr=False)
    attributes: str = field(repr=False)

    @staticmethod
    def of(name: str, arch: str, triple: str, cpu: str, features: Iterable[str]) -> Host:
        """A host of just these features, which `cpu` has."""
        attributes = ",".join(f"+{feature}" for feature in sorted(features))
        return Host(name, arch, triple, cpu, frozenset(features), attributes)

    def has(self, *features: str) -> bool:
        """Whether it has all of these features."""
        return self.features.issuperset(features)

    @property
    def is_x86(self) -> bool:
        return self.arch == "x86_64"


def find_host(name: str | None = None) -> Host:
    """The host of this name: without one the host that RVSIM_HOST names, else this processor."""
    return _found(_chosen(name), _architecture())


def check_host(name: str | None = None) -> str:
    """The name of the host that `find_host` finds, once it is known that there is one.

    That needs no LLVM, whose import takes long, for the names that stand for a host everywhere.
    """
    chosen = _chosen(name)
    return chosen if chosen in (NATIVE, GENERIC) else find_host(chosen).name


def usable_hosts() -> list[str]:
    """The names of the hosts whose code this computer executes."""
    if _architecture() != "x86_64":
        return [NATIVE, GENERIC]
    native = find_host(NATIVE)
    levels = [name for name, features in LEVELS.items() if native.has(*features)]
    return [NATIVE, *reversed(levels), GENERIC]


def _chosen(name: str | None) -> str:
    """A name that is one."""
    given = name or os.environ.get(VARIABLE) or NATIVE
    if given in NAMES:
        return given
    where = "" if name else f" in {VARIABLE}"
    hint = did_you_mean(given.lower(), NAMES, otherwise=f"choose one of {', '.join(NAMES)}")
    raise RvsimError(f"unknown host {given!r}{where}", hint=hint)


def _architecture() -> str:
    machine = platform.machine().lower()
    return _ARCHITECTURES.get(machine, machine)


@cache
def _found(name: str, arch: str) -> Host:
    match name:
        case "native":
            return _native(arch)
        case "generic":
            return baseline(arch, _triple())
    if arch != "x86_64":
        hint = f"{platform.machine()} has {NATIVE} and {GENERIC}"
        raise RvsimError(f"host {name} is a level of x86-64", hint=hint)
    missing = sorted(LEVELS[name] - _native(arch).features)
    if missing:
        hint = f"choose one of {', '.join(usable_hosts())}"
        raise RvsimError(f"this processor is no {name}, it lacks {', '.join(missing)}", hint=hint)
    return Host.of(name, arch, _triple(), name, LEVELS[name])


def baseline(arch: str, triple: str) -> Host:
    """What every processor of an architecture has; it need not be this computer's."""
    cpu, features = _BASELINES.get(arch, (GENERIC, frozenset()))
    return Host.of(GENERIC, arch, triple, cpu, features)


def _native(arch: str) -> Host:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    has = frozenset(feature for feature, there in features.items() if there)
    level = level_in_place_of(has)
    if level is not None:
        return Host.of(NATIVE, arch, _triple(), level, LEVELS[level])
    return Host(NATIVE, arch, _triple(), llvm.get_host_cpu_name(), has, features.flatten())


def level_in_place_of(features: frozenset[str]) -> str | None:
    """The level that is used of a processor with only a part of the vector instructions of one.

    Code for such a part, AVX without AVX2 for example, is not what is tested.

    >>> level_in_place_of(LEVELS["x86-64-v2"] | {"avx"}), level_in_place_of(LEVELS["x86-64-v3"])
    ('x86-64-v2', None)
    """
    if all(part <= features for first, part in _VECTORS.items() if first in features):
        return None
    return [level for level, has in LEVELS.items() if has <= features][-1]


def _triple() -> str:
    import llvmlite.binding as llvm

    return str(llvm.get_default_triple())
