"""Berkeley SoftFloat, one operation at a time, on plain ints; nothing of rvsim is imported.

`softfloatpy` is built with SoftFloat's RISC-V specialisation: NaN results are canonical,
conversions of NaN give the greatest integer, and tininess is detected after rounding;
`test_float_exact` holds it to that.  The exception flags have the bits of fflags.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import softfloatpy as sf

TYPES = {
    "f16": (sf.Float16, 2),
    "bf16": (sf.BFloat16, 2),
    "f32": (sf.Float32, 4),
    "f64": (sf.Float64, 8),
    "i32": (sf.Int32, 4),
    "ui32": (sf.UInt32, 4),
    "i64": (sf.Int64, 8),
    "ui64": (sf.UInt64, 8),
}
MODES = list(sf.RoundingMode)
Outcome = tuple[int, int]


def operation(name: str, *types: str) -> Callable[..., Outcome]:
    """SoftFloat's function `name` on operands of these types: ``f(*patterns, rm)``."""
    function = getattr(sf, name)
    makers = [_maker(t) for t in types]
    takes_mode = name.endswith("round_to_int") or any(
        name.endswith(f"_to_{t}") and name[0] in "fb" for t in ("i32", "ui32", "i64", "ui64")
    )

    def call(*operands: int) -> Outcome:
        *patterns, rm = operands
        mode = MODES[rm]
        values = [make(p) for make, p in zip(makers, patterns, strict=True)]
        sf.set_rounding_mode(mode)
        sf.set_exception_flags(0)
        result = function(*values, mode) if takes_mode else function(*values)
        return _pattern(result), int(sf.get_exception_flags())

    return call


def _maker(type_: str) -> Callable[[int], Any]:
    make, size = TYPES[type_]
    known: dict[int, Any] = {}

    def value(pattern: int) -> Any:
        if pattern not in known:
            known[pattern] = make.from_bytes(pattern.to_bytes(size, "big"))
        return known[pattern]

    return value


def _pattern(result: Any) -> int:
    if isinstance(result, bool):
        return int(result)
    return int.from_bytes(result.to_bytes(), "big")
