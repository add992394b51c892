"""The files of ``/sys`` and ``/dev`` that programs look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rvsim.guest.linux.cpu import CacheFacts, Cpu
from rvsim.guest.linux.file_nodes import DeviceNode
from rvsim.guest.linux.files import Device
from rvsim.guest.linux.nodes import Directory, Link, Node, folder, text

_MOST_HARTS: Final = 64
"""CONFIG_NR_CPUS of RISC-V."""

_ONE_HART: Final = f"{0:08x},{1:08x}"
"""A set of harts as a mask."""


def sys(cpu: Cpu) -> Directory:
    """The folder ``/sys``: the one hart."""
    mask, one = _ONE_HART, 0
    topology = folder(
        core_id=text(0), physical_package_id=text(0), cluster_id=text(0),
        thread_siblings=text(mask), thread_siblings_list=text(one),
        core_cpus=text(mask), core_cpus_list=text(one),
        core_siblings=text(mask), core_siblings_list=text(one),
        package_cpus=text(mask), package_cpus_list=text(one),
        cluster_cpus=text(mask), cluster_cpus_list=text(one),
    )  # fmt: skip
    frequency = folder(
        **{name: text(cpu.rates.frequency // 1000) for name in (
            "cpuinfo_max_freq", "cpuinfo_min_freq", "scaling_max_freq", "scaling_min_freq",
            "scaling_cur_freq",
        )},
        scaling_governor=text("performance"), affected_cpus=text(0), related_cpus=text(0),
    )  # fmt: skip
    cpus = folder(
        online=text(0), possible=text(0), present=text(0), offline=text(""), isolated=text(""),
        kernel_max=text(_MOST_HARTS - 1), cpu0=_hart(cpu, topology=topology, cpufreq=frequency),
    )  # fmt: skip
    return folder(devices=folder(system=folder(cpu=cpus)))


def _hart(cpu: Cpu, **parts: Node) -> Directory:
    """A hart; one whose caches are not known has no folder of them."""

    def entries() -> dict[bytes, Node]:
        caches = cpu.caches()
        numbered = {f"index{i}": _cache(cache) for i, cache in enumerate(caches)}
        named = parts | ({"cache": folder(**numbered)} if caches else {})
        return {name.encode(): node for name, node in named.items()}

    return Directory(entries)


def _cache(cache: CacheFacts) -> Directory:
    return folder(
        level=text(cache.level),
        type=text(cache.kind),
        size=text(f"{cache.size // 1024}K"),
        ways_of_associativity=text(cache.ways),
        coherency_line_size=text(cache.line),
        number_of_sets=text(cache.size // cache.ways // cache.line),
        shared_cpu_list=text(0),
        shared_cpu_map=text(_ONE_HART),
    )


def dev(random: Callable[[int], bytes]) -> Directory:
    """The folder ``/dev``: what needs no hardware, and the process's streams."""

    def device(content: Callable[[int], bytes]) -> Node:
        return DeviceNode(lambda flags: Device(flags, content))

    devices: dict[bytes, Node] = {
        b"null": device(lambda count: b""),
        b"zero": device(bytes),
        b"random": device(random),
        b"urandom": device(random),
        b"fd": Link(lambda: b"/proc/self/fd"),
        b"stdin": Link(lambda: b"/proc/self/fd/0"),
        b"stdout": Link(lambda: b"/proc/self/fd/1"),
        b"stderr": Link(lambda: b"/proc/self/fd/2"),
    }
    return Directory(lambda: devices)
