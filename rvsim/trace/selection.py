"""The instructions of a run to write: a window of their numbers, and regions of code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rvsim.cost.batch import Batch, PerInstruction
from rvsim.machine import ALL_INSNS
from rvsim.perf.region import Region


@dataclass(frozen=True, slots=True)
class Window:
    """Instructions from number `first` up to but not including `end`, counted from 0 as instret."""

    first: int = 0
    end: int | None = None

    @property
    def numbers(self) -> range:
        """All numbers in it."""
        return range(self.first, ALL_INSNS.stop if self.end is None else self.end)

    def __contains__(self, instret: int) -> bool:
        return self.first <= instret and (self.end is None or instret < self.end)

    def __str__(self) -> str:
        end = "" if self.end is None else self.end
        return f"the instructions {self.first}:{end}"


@dataclass(slots=True)
class Selection:
    """Chooses instructions; `any` says whether it has chosen one.

    >>> chosen = Selection(Window(10, 20), [Region("main", 0x1000, 0x1040)])
    >>> chosen.takes(10, 0x1000), chosen.takes(20, 0x1000), chosen.takes(11, 0x1040)
    (True, False, False)
    """

    window: Window = Window()
    regions: Sequence[Region] = ()
    any: bool = False
    _inside: PerInstruction = field(init=False)

    def __post_init__(self) -> None:
        self._inside = PerInstruction(lambda d: self.is_inside(d.pc))

    def is_inside(self, pc: int) -> bool:
        """Whether an address is in one of the regions."""
        return any(pc in region for region in self.regions)

    def takes(self, instret: int, pc: int) -> bool:
        """Whether to write an instruction."""
        chosen = instret in self.window and (not self.regions or self.is_inside(pc))
        self.any |= chosen
        return chosen

    def of(self, batch: Batch) -> Batch:
        """The chosen instructions of a batch."""
        numbers = batch.rows["instret"]
        chosen = numbers >= self.window.first
        if self.window.end is not None:
            chosen &= numbers < self.window.end
        if self.regions:
            chosen &= self._inside(batch)
        self.any |= bool(chosen.any())
        return batch.where(chosen)

    @property
    def limited(self) -> bool:
        """Whether it may leave an instruction out."""
        return bool(self.regions) or self.window != Window()

    def missed(self) -> str:
        """A text that says that none of the instructions executed.

        >>> Selection(Window(10, 20)).missed()
        'none of the instructions 10:20 executed'
        """
        if not self.regions:
            return f"none of {self.window} executed"
        names = " or ".join(region.name for region in self.regions)
        within = "" if self.window == Window() else f" within {self.window}"
        return f"no instruction of {names}{within} executed"
