"""What a right kernel does not depend on: VLEN, policies, rounding modes, registers at entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from rvsim.errors import RvsimError, did_you_mean
from rvsim.hart.state import State
from rvsim.vec.vtype import VType

ROUNDING: Final = ("rne", "rtz", "rdn", "rup", "rmm")
"""Values of frm by their numbers (F 2.2)."""

FIXED_ROUNDING: Final = ("rnu", "rne", "rdn", "rod")
"""Values of vxrm by their numbers (V 3.8)."""

_PRESERVED: Final = frozenset({0, 1, 2, 3, 4})
"""zero, ra, sp, gp and tp: what a function may rely on."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a function finds in registers that hold no arguments: random bytes if there is a `seed`.

    `frm` and `vxrm` are rounding modes by their numbers.
    """

    seed: int | None = None
    frm: int = 0
    vxrm: int = 0

    def fill(self, state: State, elen: int) -> None:
        """Write registers and CSRs, but those that a function may rely on."""
        if self.seed is not None:
            rng = np.random.default_rng(self.seed)
            for number in sorted(set(range(32)) - _PRESERVED):
                state.x[number] = int(rng.integers(0, 1 << 64, dtype=np.uint64))
            for number in range(32):
                state.f[number] = int(rng.integers(0, 1 << 64, dtype=np.uint64))
            state.vfile[:] = rng.integers(0, 256, state.vfile.size, np.uint8)
            vtype = _any_vtype(rng, elen)
            state["vtype"] = vtype.encode()
            state["vl"] = int(rng.integers(0, vtype.vlmax(state.vlen) + 1))
            state["vxsat"], state["fflags"] = int(rng.integers(2)), int(rng.integers(32))
        state["frm"], state["vxrm"] = self.frm, self.vxrm

    def stack(self, size: int) -> bytes:
        """What is below the stack pointer."""
        return bytes(size) if self.seed is None else _noise(self.seed, size)


@cache
def _noise(seed: int, size: int) -> bytes:
    return np.random.default_rng(seed).bytes(size)


def _any_vtype(rng: np.random.Generator, elen: int) -> VType:
    legal = [
        vtype
        for sew_log2 in (3, 4, 5, 6)
        for lmul_log2 in range(-3, 4)
        for policy in range(4)
        if (vtype := VType(sew_log2, lmul_log2, bool(policy & 1), bool(policy & 2))).supported(elen)
    ]
    return legal[int(rng.integers(len(legal)))]


PLAIN_ENTRY: Final = Entry()


@dataclass(frozen=True, slots=True)
class Conditions:
    """One choice on each axis; the names are those of `rvsim.verify`.

    >>> print(Conditions(256, agnostic="ones"))
    vlen=256 agnostic=ones
    """

    vlen: int
    agnostic: str = "undisturbed"
    vl: str = "max"
    reduction: str = "sequential"
    initial: str = "zero"
    frm: str = "rne"
    vxrm: str = "rnu"
    entry: str = "zero"

    def __str__(self) -> str:
        plain = Conditions(self.vlen)
        changed = [a for a in AXES if getattr(self, a) != getattr(plain, a)]
        return " ".join([f"vlen={self.vlen}", *(f"{a}={getattr(self, a)}" for a in changed)])

    def options(self) -> dict[str, Any]:
        """Those of the machine (`rvsim.machine.RunOptions`)."""
        return {
            "vlen": self.vlen,
            "agnostic": self.agnostic,
            "vl_policy": self.vl,
            "reduction_order": self.reduction,
            "initial": self.initial,
        }

    def at_entry(self, seed: int) -> Entry:
        """What the function finds in registers; `seed` chooses random ones."""
        return Entry(
            seed if self.entry == "random" else None,
            ROUNDING.index(self.frm),
            FIXED_ROUNDING.index(self.vxrm),
        )


AXES: Final = ("agnostic", "vl", "reduction", "initial", "frm", "vxrm", "entry")
"""All but VLEN."""

CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "agnostic": ("ones", "undisturbed", "random"),
    "vl": ("max", "half"),
    "reduction": ("sequential", "tree", "random"),
    "initial": ("zero",),
    "frm": ("rne",),
    "vxrm": FIXED_ROUNDING,
    "entry": ("random", "zero"),
}
"""What is tried on each axis, unless the caller says otherwise; all examples run with the first."""


class Axes:
    """The conditions to verify under: `always` those of every example, `others` in turn."""

    def __init__(self, vlens: Sequence[int], **chosen: Sequence[str] | None) -> None:
        choices = {axis: _choices(axis, chosen.get(axis)) for axis in AXES}
        first = {axis: values[0] for axis, values in choices.items()}
        if not vlens:
            raise ValueError("vlens names no VLEN")
        self.always = tuple(Conditions(vlen, **first) for vlen in vlens)
        self.others = tuple(
            Conditions(conditions.vlen, **{**first, axis: value})
            for axis, values in choices.items()
            for value in values[1:]
            for conditions in self.always
        )

    def all(self) -> Iterator[Conditions]:
        """Those of every example first."""
        yield from self.always
        yield from self.others


_KNOWN: Final = {**CHOICES, "initial": ("zero", "ones", "random"), "frm": ROUNDING}


def _choices(axis: str, chosen: Sequence[str] | None) -> tuple[str, ...]:
    if chosen is None:
        return CHOICES[axis]
    values = (chosen,) if isinstance(chosen, str) else tuple(chosen)
    for value in values:
        kind = value.partition(":")[0]
        if kind not in _KNOWN[axis]:
            hint = did_you_mean(value, _KNOWN[axis])
            raise RvsimError(f"{axis}={value!r} is no choice of that axis", hint=hint)
    if not values:
        raise ValueError(f"{axis} names nothing to verify under")
    return values
