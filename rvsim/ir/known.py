"""Values that are known once the operand fields are: register numbers, targets of jumps."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final

from rvsim.ir.value import Value

_FOLDED: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
}


def known(value: Value, fields: Mapping[str, int]) -> int | None:
    """The value of a node that depends on nothing but operand fields; None for another.

    >>> from rvsim import ir
    >>> with ir.Trace():
    ...     register = ir.param("rd") * 2 + 1
    ...     loaded = ir.read_x("rd")
    >>> known(register, {"rd": 5}), known(loaded, {"rd": 5})
    (11, None)
    """
    if value.prim == "const":
        return int(value.attrs[0])
    if value.prim == "param":
        field = fields.get(value.attrs[0])
        return None if field is None else field & value.type.ones
    if value.prim in _FOLDED:
        a = known(value.args[0], fields)
        b = None if a is None else known(value.args[1], fields)
        if a is not None and b is not None:
            return _FOLDED[value.prim](a, b) & value.type.ones
    return None
