"""Operations as named nodes of the IR, so that an engine may know a quicker way than softfloat.

``f32.add(a, b, rm)`` is what formulas show and what tables of host operations name; the definition
is the softfloat body, which every engine falls back to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from rvsim import ir
from rvsim.fp.flags import Flags
from rvsim.fp.formats import Format
from rvsim.ir import Value

Result = tuple[Value, Flags]
_MODES: Final = {0: "rne", 1: "rtz", 2: "rdn", 3: "rup", 4: "rmm", 6: "odd"}


def operation(function: Callable[..., Result]) -> Callable[..., Result]:
    """Make a function of formats, patterns and a rounding mode one node of the program.

    Its name tells the formats, the operation, and a rounding mode or other choice that is known:
    ``f32.add``, ``f64.f16.convert[rtz]``.
    """

    @wraps(function)
    def run(*args: Any, **choices: Any) -> Result:
        args = tuple(_settled(a) for a in args)
        values = [a for a in args if isinstance(a, Value)]

        def body(*params: Value) -> dict[str, Value]:
            given = iter(params)
            result, flags = function(
                *(next(given) if isinstance(a, Value) else a for a in args), **choices
            )
            raised = {name: getattr(flags, name) for name in Flags.__slots__}
            return {"": result, **{n: f for n, f in raised.items() if f.const != 0}}

        results = ir.call(_name(function.__name__, args, choices), body, *values)
        result = results.pop("")
        return result, Flags.of_operation(result, **results)

    return run


def _settled(argument: object) -> object:
    """A rounding mode that tracing knows, as the int that it is."""
    known = argument.const if isinstance(argument, Value) and argument.type == ir.bits(3) else None
    return argument if known is None else known


def _name(name: str, args: tuple[object, ...], choices: dict[str, object]) -> str:
    formats = [a.name for a in args if isinstance(a, Format)]
    known = [_MODES[a] if i == len(args) - 1 else str(a) for i, a in enumerate(args)
             if isinstance(a, int)]  # fmt: skip
    known += [f"{key}={value}" for key, value in choices.items()]
    return ".".join([*formats, name]) + (f"[{', '.join(known)}]" if known else "")
