"""What registers and the unused stack hold at first; a right program does not depend on it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import shake_256
from typing import Final, Literal

from rvsim.hart.state import State
from rvsim.profiles import seeded


@dataclass(frozen=True, slots=True)
class Initial:
    """Zeros, as Linux gives them, or ones, or bytes that depend on `seed` alone.

    >>> Initial.parse("ones").octets("v", 4), Initial.parse("random:7").seed
    (b'\\xff\\xff\\xff\\xff', 7)
    """

    kind: Literal["zero", "ones", "random"] = "zero"
    seed: int = 0

    @staticmethod
    def parse(text: str) -> Initial:
        """From ``zero``, ``ones`` or ``random:SEED``."""
        return Initial(*seeded("initial contents", text, ("zero", "ones", "random")))

    def __str__(self) -> str:
        return f"random:{self.seed}" if self.kind == "random" else self.kind

    def octets(self, what: str, size: int) -> bytes:
        """The contents of a place of this name."""
        match self.kind:
            case "zero":
                return bytes(size)
            case "ones":
                return b"\xff" * size
            case "random":
                return shake_256(f"{what} {self.seed}".encode()).digest(size)

    def fill(self, state: State) -> None:
        """Fill all registers but x0; the environment sets those that it hands over."""
        state.x[1:] = memoryview(self.octets("x", 31 * 8)).cast("Q")
        state.f[:] = memoryview(self.octets("f", 32 * 8)).cast("Q")
        state.vfile[:] = memoryview(self.octets("v", 32 * state.vlenb))


ZERO: Final = Initial()
