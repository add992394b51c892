"""The same elementwise operation on another number of lanes."""

from __future__ import annotations

from dataclasses import replace

from rvsim.ir.prims import Attrs
from rvsim.ir.program import NamedOperation
from rvsim.ir.trace import Trace
from rvsim.ir.value import Value, is_elementwise


def change_lanes(function: NamedOperation, lanes: int) -> NamedOperation:
    """A named operation on lanes, with `lanes` of them; its scalars stay scalars.

    Raises TypeError if anything in it is not elementwise.

    >>> from rvsim.ir.types import Type
    >>> with Trace() as t:
    ...     a = t.node("carried", (), ((0, 0), Type(32, 4)))
    ...     doubled = NamedOperation("double", (a,), (a + 1,), ("",))
    >>> change_lanes(doubled, 16).results[0].type
    lanes[16, 32]
    """
    trace = Trace()
    made: dict[int, Value] = {}
    stack = list(reversed(function.results))
    while stack:
        value = stack[-1]
        waiting = [a for a in value.args if id(a) not in made]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if id(value) not in made:
            made[id(value)] = _copy(trace, value, tuple(made[id(a)] for a in value.args), lanes)
    params = tuple(
        made[id(p)] if id(p) in made else _copy(trace, p, (), lanes) for p in function.params
    )
    results = tuple(made[id(r)] for r in function.results)
    return NamedOperation(function.name, params, results, function.labels)


def _copy(trace: Trace, value: Value, args: tuple[Value, ...], lanes: int) -> Value:
    if value.prim == "const" or value.type.lanes is None:
        return trace.node(value.prim, args, value.attrs)
    return trace.node(value.prim, args, _attrs(value, lanes))


def _attrs(value: Value, lanes: int) -> Attrs:
    match value.prim:
        case "splat":
            return (lanes,)
        case "carried":
            return (value.attrs[0], replace(value.attrs[1], lanes=lanes))
        case prim if is_elementwise(prim):
            return value.attrs
    raise TypeError(f"{value.prim} is not elementwise")
