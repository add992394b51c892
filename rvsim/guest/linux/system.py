"""Facts about the machine that a process may ask for: identity, limits, extensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rvsim.config import NO_FACTS, Config, LinuxFacts
from rvsim.guest.linux.cpu import with_parts
from rvsim.guest.linux.files import MOST_FILES

PROCESS_ID: Final = 1000
PARENT_ID: Final = 1
STACK_SIZE: Final = 8 << 20
CLOCK_TICKS: Final = 100
"""Units of processor time a second."""

UNLIMITED: Final = (1 << 64) - 1
CACHE_BLOCK: Final = 64
VECTOR_OFF, VECTOR_ON = 1, 2
"""What PR_RISCV_V_GET_CONTROL tells, in its lowest bits."""
RLIMIT_NOFILE, RLIMIT_SIGPENDING = 7, 11
MOST_QUEUED_SIGNALS: Final = 1 << 15
"""As Linux has it on a board with 8 GiB: half of the threads that an eighth of memory holds."""

UNAME: Final = (
    "Linux",
    "rvsim",
    "6.6.0",
    "#1 SMP PREEMPT_DYNAMIC",
    "riscv64",
    "(none)",
)
"""sysname, nodename, release, version, machine, domainname."""

LIMITS: Final[dict[int, tuple[int, int]]] = {
    **{resource: (UNLIMITED, UNLIMITED) for resource in range(16)},
    3: (STACK_SIZE, UNLIMITED),  # RLIMIT_STACK
    4: (0, UNLIMITED),  # RLIMIT_CORE
    RLIMIT_NOFILE: (MOST_FILES, MOST_FILES),
    RLIMIT_SIGPENDING: (MOST_QUEUED_SIGNALS, MOST_QUEUED_SIGNALS),
}
"""Soft and hard limit of each resource."""

# Linux's asm/hwprobe.h: the bits of RISCV_HWPROBE_KEY_IMA_EXT_0; bit 0 is F and D.
_BIT_NAMES: Final = """
- c v zba zbb zbs zicboz zbc zbkb zbkc zbkx zknd zkne zknh zksed zksh zkt zvbb zvbc zvkb zvkg zvkned
zvknha zvknhb zvksed zvksh zvkt zfh zfhmin zihintntl zvfh zvfhmin zfa ztso zacas zicond zihintpause
zve32x zve32f zve64x zve64f zve64d zimop zca zcb zcd zcf zcmop zawrs supm zicntr zihpm zfbfmin
zvfbfmin zvfbfwma zicbom zaamo zalrsc zabha
"""
_BITS: Final = {name: bit for bit, name in enumerate(_BIT_NAMES.split())}
_IMA: Final = 1
_FAST, _UNSUPPORTED = 3, 4


def hwprobe(
    config: Config, *, facts: LinuxFacts = NO_FACTS, memory_size: int = 4 << 30
) -> Mapping[int, int]:
    """The values of the keys of `riscv_hwprobe`, as the profile has them.

    Keys that aren't here are unknown to this kernel.

    >>> hwprobe(Config(frozenset("imac")))[4]
    2
    """
    vendor, architecture, implementation = facts.ids
    values = {
        0: vendor,
        1: architecture,
        2: implementation,
        3: _IMA if config.extensions.issuperset("ima") else 0,
        4: _extension_bits(config.extensions),
        5: _FAST,  # misaligned scalar access
        6: CACHE_BLOCK if "zicboz" in config.extensions else 0,
        7: memory_size - 1,  # highest virtual address
        8: config.rates.timer,
        9: _FAST,
        10: _FAST if config.misaligned_vector else _UNSUPPORTED,
    }
    if "v" not in config.extensions:
        values[10] = _UNSUPPORTED
    if "zicbom" in config.extensions:
        values[12] = CACHE_BLOCK
    return values


def _extension_bits(extensions: frozenset[str]) -> int:
    bits = sum(1 << _BITS[name] for name in with_parts(extensions) if name in _BITS)
    return bits | int("f" in extensions and "d" in extensions)
