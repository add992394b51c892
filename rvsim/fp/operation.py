"""Operations as named nodes of the IR, so that an engine may know a quicker way than softfloat.

``f32.add(a, b, rm)`` is what formulas show; the definition is the softfloat body, which every
engine falls back to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from rvsim import ir
from rvsim.fp.flags import Flags
from rvsim.fp.formats import Format
from rvsim.ir import Value
from rvsim.ir.float_operation import FloatOperation, RoundingMode, Verb

Result = tuple[Value, Flags]


def operation(function: Callable[..., Result]) -> Callable[..., Result]:
    """Make a function of formats, patterns and last a rounding mode one node of the program.

    The node is named by the `FloatOperation`: formats, verb, and a mode that is known.
    """
    verb = cast(Verb, function.__name__)

    @wraps(function)
    def run(*given: Any, **choices: Any) -> Result:
        args = *given[:-1], _settled(given[-1])
        values = [a for a in args if isinstance(a, Value)]

        def body(*params: Value) -> dict[str, Value]:
            operands = iter(params)
            result, flags = function(
                *(next(operands) if isinstance(a, Value) else a for a in args), **choices
            )
            raised = {name: getattr(flags, name) for name in Flags.__slots__}
            return {"": result, **{n: f for n, f in raised.items() if f.const != 0}}

        results = ir.call(_what(verb, args, **choices), body, *values)
        result = results.pop("")
        return result, Flags.of_operation(result, **results)

    return run


def _settled(rm: Value | int) -> Value | RoundingMode:
    """The rounding mode, if tracing knows it; else the operand that has it."""
    known = rm.const if isinstance(rm, Value) else rm
    return cast(Value, rm) if known is None else RoundingMode(known)


def _what(verb: Verb, args: tuple[Any, ...], *, signed: bool | None = None) -> FloatOperation:
    formats = tuple(a.name for a in args if isinstance(a, Format))
    mode = args[-1] if isinstance(args[-1], RoundingMode) else None
    width = next((a for a in args[:-1] if isinstance(a, int)), None)
    return FloatOperation(verb, formats, mode, width, signed)
