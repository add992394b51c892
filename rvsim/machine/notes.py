"""What a machine remarks on a run: each remark once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

Note = Callable[[str], object]

_NOWHERE: Final = -1


class Notes:
    """Passes remarks on to `note`, each once for a place that `place` names."""

    def __init__(self, note: Note, place: Callable[[int], str]) -> None:
        self._note = note
        self._place = place
        self._said: set[tuple[int, str]] = set()

    def at(self, pc: int, text: str) -> None:
        """Remark on an instruction."""
        if self._is_new(pc, text):
            self._note(f"{self._place(pc)}: {text}")

    def once(self, text: str) -> None:
        """Remark on what is true of no place."""
        if self._is_new(_NOWHERE, text):
            self._note(text)

    def _is_new(self, pc: int, text: str) -> bool:
        is_new = (pc, text) not in self._said
        self._said.add((pc, text))
        return is_new
