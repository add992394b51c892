"""Exception flags as one-bit values, lane by lane (F 11.2: fflags is NV DZ OF UF NX)."""

from __future__ import annotations

from dataclasses import dataclass

from rvsim import ir
from rvsim.ir import Value


@dataclass(frozen=True, slots=True)
class Flags:
    """The five flags that an operation raises: scalars of one bit, or masks."""

    nv: Value
    dz: Value
    of: Value
    uf: Value
    nx: Value

    @staticmethod
    def of_operation(
        like: Value,
        *,
        nv: Value | None = None,
        dz: Value | None = None,
        of: Value | None = None,
        uf: Value | None = None,
        nx: Value | None = None,
    ) -> Flags:
        """The named flags; the others are 0, in the shape of `like`."""
        never = ir.const(0, like.type.with_width(1))
        return Flags(*(never if flag is None else flag for flag in (nv, dz, of, uf, nx)))

    def masked(self, active: Value) -> Flags:
        """Only what `active` elements raise."""
        return Flags(*(flag & active for flag in (self.nv, self.dz, self.of, self.uf, self.nx)))

    def accrued(self) -> Value:
        """What to or into fflags: bits[64], all lanes together."""
        word = ir.const(0, 64)
        for i, flag in enumerate((self.nx, self.uf, self.of, self.dz, self.nv)):
            if flag.const == 0:
                continue
            raised = flag if flag.type.lanes is None else ir.reduce("or", flag)
            word = word | (ir.zext(raised, 64) << i)
        return word
