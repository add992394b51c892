"""CPU profiles and ISA strings: names to extension sets, and the configuration they make."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from rvsim.config import (
    MACHINE,
    ClockRates,
    Config,
    LinuxFacts,
    Reserved,
    UserCounters,
    VlPolicy,
)
from rvsim.core_files import clock_of
from rvsim.errors import RvsimError, did_you_mean
from rvsim.host.package_data import data_path

DEFAULT_CPU: Final = "spacemit-x60"
MIN_VLEN, MAX_VLEN = 128, 4096


@dataclass(frozen=True, slots=True)
class CpuProfile:
    """A CPU as `isa/profiles.toml` describes it.

    `mcpu` is what clang calls it, `core` the file of `isa/cores` that has its cycles, caches and
    clock; without one it has a clock of its own.
    """

    name: str
    description: str
    extensions: frozenset[str]
    vlen: int
    misaligned_vector: bool
    linux: LinuxFacts
    mcpu: str
    core: str
    rates: ClockRates


@cache
def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((data_path("isa") / f"{name}.toml").read_text("utf-8"))


def extension_titles() -> dict[str, str]:
    """Every known extension name with what it is."""
    return {name: entry["title"] for name, entry in _table("extensions").items()}


def expand(names: Iterable[str]) -> frozenset[str]:
    """The names, all they imply and what they give together; RvsimError for an unknown one.

    >>> "zcd" in expand(["c", "d"]), "zcd" in expand(["c", "f"])
    (True, False)
    """
    known = _table("extensions")
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name == "*":
            pending += (n for n, entry in known.items() if entry.get("selectable", True))
        elif name not in known and not re.fullmatch(r"zvl\d+b", name):
            raise RvsimError(f"unknown extension {name!r}", hint=did_you_mean(name, known))
        elif name not in found:
            found.add(name)
            pending += known.get(name, {}).get("implies", ())
    given = (n for n, e in known.items() if found.issuperset(e.get("given_by", (n,))))
    return frozenset({*found, *given})


def gives(extensions: frozenset[str], name: str) -> bool:
    """Whether these extensions, with all they imply, have what a name stands for.

    >>> have = expand(["i", "c", "d", "zba", "zbb", "zbs"])
    >>> [gives(have, name) for name in ("f", "b", "zcd", "v", "xunknown")]
    [True, True, True, False, False]
    """
    entry = _table("extensions").get(name, {})
    if entry.get("shorthand"):
        return all(gives(extensions, other) for other in entry["implies"])
    return name in extensions


@cache
def profile(name: str) -> CpuProfile:
    """The profile of a CPU; RvsimError with a suggestion for an unknown name."""
    cpus = _table("profiles")["cpu"]
    if name not in cpus:
        raise RvsimError(f"unknown CPU {name!r}", hint=did_you_mean(name, cpus))
    entry = cpus[name]
    return CpuProfile(
        name,
        entry["description"],
        expand(entry["isa"]),
        entry["vlen"],
        entry["misaligned_vector"],
        _linux_facts(entry["linux"]),
        entry["mcpu"],
        entry.get("core", ""),
        clock_of(entry["core"]) if "core" in entry else ClockRates(**entry["clock"]),
    )


def core_of(cpu: str) -> str:
    """The core whose cycles a CPU has; RvsimError if it has none.

    >>> core_of("spacemit-x60")
    'x60'
    """
    found = profile(cpu)
    if not found.core:
        raise RvsimError(
            f"there are no cycles of {cpu}: no core has its numbers",
            hint="--core x60 counts those of an X60 instead; rvsim list cores has all",
        )
    return found.core


def _linux_facts(entry: Mapping[str, Any]) -> LinuxFacts:
    vendor, architecture, implementation = entry["ids"]
    return LinuxFacts(
        model=entry.get("model", ""),
        uarch=entry["uarch"],
        ids=(vendor, architecture, implementation),
        supervisor=tuple(entry.get("supervisor", ())),
        unlisted=tuple(entry.get("unlisted", ())),
    )


def profiles() -> list[CpuProfile]:
    """All CPUs, the default first."""
    return sorted(
        (profile(n) for n in _table("profiles")["cpu"]), key=lambda p: p.name != DEFAULT_CPU
    )


def parse_isa(text: str) -> tuple[frozenset[str], int | None]:
    """Extensions, and VLEN if a ``zvl<n>b`` asks for one, of an ISA string as Spike spells it.

    >>> names, vlen = parse_isa("rv64gcv_zvl512b_zba")
    >>> "zba" in names, "zifencei" in names, vlen
    (True, True, 512)
    """
    match = re.fullmatch(r"rv64([a-z]+?)((?:_[a-z][a-z0-9]*)*)", text.lower())
    if match is None:
        raise RvsimError(f"ISA string {text!r} is not understood", hint="write rv64gcv_zvl256b_zba")
    letters, rest = match.groups()
    cut = next((i for i, c in enumerate(letters) if c in "zx"), len(letters))
    names = [*letters[:cut], *([letters[cut:]] if cut < len(letters) else []), *rest.split("_")[1:]]
    if letters[0] not in "ig":
        raise RvsimError(f"ISA string {text!r} has no base", hint="begin with rv64i or rv64g")
    if MACHINE in names:
        raise RvsimError(
            f"{MACHINE} is no extension to choose",
            hint="an image with a tohost symbol runs in machine mode",
        )
    lengths = [int(n[3:-1]) for n in names if re.fullmatch(r"zvl\d+b", n)]
    return expand(names), max(lengths, default=None)


def make_config(
    cpu: str = DEFAULT_CPU,
    *,
    isa: str | None = None,
    vlen: int | None = None,
    agnostic: str = "undisturbed",
    vl_policy: VlPolicy = "max",
    reserved: Reserved = "trap",
    user_counters: UserCounters = "allow",
    reduction_order: str = "sequential",
    host_float: bool = True,
) -> Config:
    """The configuration of a run.

    `agnostic` is undisturbed, ones, random or random:SEED; `reduction_order` sequential, tree,
    random or random:SEED.

    >>> make_config(vlen=512, agnostic="random:7").seed
    7
    """
    base = profile(cpu)
    extensions, isa_vlen = (base.extensions, None) if isa is None else parse_isa(isa)
    chosen = vlen or isa_vlen or base.vlen
    if chosen & (chosen - 1) or not MIN_VLEN <= chosen <= MAX_VLEN:
        raise RvsimError(
            f"VLEN {chosen} is not a power of two from {MIN_VLEN} to {MAX_VLEN}",
            hint=f"{cpu} has {base.vlen}",
        )
    kind, seed = seeded("agnostic policy", agnostic, ("undisturbed", "ones", "random"))
    order, order_seed = seeded("reduction order", reduction_order, ("sequential", "tree", "random"))
    return Config(
        extensions=extensions,
        vlen=chosen,
        agnostic=kind,
        seed=seed,
        vl_policy=one_of("vl policy", vl_policy, ("max", "half")),
        reserved=one_of("reserved policy", reserved, ("trap", "allow")),
        user_counters=one_of("user counters policy", user_counters, ("trap", "allow")),
        misaligned_vector=base.misaligned_vector,
        reduction_order=order,
        reduction_seed=order_seed,
        host_float=host_float,
        rates=base.rates,
    )


def one_of(what: str, value: Any, allowed: tuple[str, ...]) -> Any:
    """The value, if it is one of those allowed; RvsimError that names them if not."""
    if value not in allowed:
        raise RvsimError(f"unknown {what} {value!r}", hint=f"choose one of {', '.join(allowed)}")
    return value


def seeded(what: str, text: str, allowed: tuple[str, ...]) -> tuple[Any, int]:
    """A choice, and the seed after ``random:``."""
    kind, colon, seed = text.partition(":")
    if colon and (kind != "random" or not seed.isdecimal()):
        raise RvsimError(f"{what} {text!r} is not understood", hint="write random:1")
    return one_of(what, kind, allowed), int(seed or 0)
