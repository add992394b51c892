"""Random numbers of the guest."""

from __future__ import annotations

import random


class RandomBytes:
    """What the guest takes for random: the same in each run."""

    def __init__(self, seed: int = 0x7276_7369_6D) -> None:
        self._seed = seed
        self._generator: random.Random | None = None

    def __call__(self, count: int) -> bytes:
        """The next bytes."""
        if self._generator is None:
            self._generator = random.Random(self._seed)
        return self._generator.randbytes(count)
