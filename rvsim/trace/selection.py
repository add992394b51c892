"""Which instructions of a run are written: a window of their numbers, and regions of code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rvsim.perf.region import Region


@dataclass(frozen=True, slots=True)
class Window:
    """Instructions from number `first` up to, and without, `end`, counted from 0 as instret is."""

    first: int = 0
    end: int | None = None

    def __contains__(self, instret: int) -> bool:
        return self.first <= instret and (self.end is None or instret < self.end)

    def __str__(self) -> str:
        end = "" if self.end is None else self.end
        return f"the instructions {self.first}:{end}"


@dataclass(slots=True)
class Selection:
    """Chooses instructions, and remembers whether there was any.

    >>> chosen = Selection(Window(10, 20), [Region("main", 0x1000, 0x1040)])
    >>> chosen.takes(10, 0x1000), chosen.takes(20, 0x1000), chosen.takes(11, 0x1040)
    (True, False, False)
    """

    window: Window = Window()
    regions: Sequence[Region] = ()
    any: bool = False

    def takes(self, instret: int, pc: int) -> bool:
        """Whether to write this one."""
        chosen = instret in self.window and (
            not self.regions or any(pc in region for region in self.regions)
        )
        self.any |= chosen
        return chosen

    def __str__(self) -> str:
        if not self.regions:
            return str(self.window)
        names = " or ".join(region.name for region in self.regions)
        return names if self.window == Window() else f"{names} within {self.window}"
