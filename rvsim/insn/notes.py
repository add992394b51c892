"""Reserved uses that depend on the state, and are carried on with if the profile allows them.

An instruction leaves the number of its text in the state word ``note``, for the machine to report.
"""

from __future__ import annotations

from typing import Final

VLMAX_CHANGED: Final = 1
VSTART_PAST_ELEMENTS: Final = 2

NOTES: Final = (
    "",
    "vsetvli x0, x0 changes VLMAX, which is reserved (V 6.2)",
    "vstart is VLMAX or more: no element has that number, which is reserved (V 3.7)",
)
"""Texts by the value of ``note``."""
