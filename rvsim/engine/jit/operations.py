"""Named operations in a region: by the host where it is exact, else by softfloat out of line.

Lanes are computed in pieces that the host holds, so that the code of an operation does not grow
with the register group, and is compiled once in a module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final

from llvmlite import ir

from rvsim.engine.jit.float_env import environment
from rvsim.engine.jit.host_float import HostFloat
from rvsim.host.processor import Host
from rvsim.ir.change_lanes import change_lanes
from rvsim.ir.float_operation import FloatOperation
from rvsim.ir.llvm import build
from rvsim.ir.llvm.backend import Lowerer
from rvsim.ir.llvm.build import Frame
from rvsim.ir.llvm.memory import GuestMemory
from rvsim.ir.program import NamedOperation
from rvsim.ir.value import Value

SOFT_BITS: Final = 256
"""Bits of a softfloat operation's first operand: its integers are twice as wide."""

IN_PLACE: Final = 40
"""Definitions of so few values are not worth a call."""

Results = tuple[Any, ...]


@cache
def host_float(host: Host) -> HostFloat | None:
    """The floating point of a host; None where its environment isn't known."""
    env = environment(host.arch)
    return None if env is None else HostFloat(env, host)


def wants_mode(host: HostFloat, operation: NamedOperation) -> bool:
    """Whether the host computes the operation, in the rounding mode that it is in."""
    name = operation.name
    return (
        isinstance(name, FloatOperation)
        and name.mode is None
        and host.rule(name, operation.params[0].type.width) is not None
    )


def by_host(
    g: Any, host: HostFloat, operation: NamedOperation, args: Sequence[Any]
) -> Results | None:
    """The results of an operation that the host has; None for another."""
    name = operation.name
    if not isinstance(name, FloatOperation):
        return None
    rule = host.rule(name, build.element_type(args[0]).width)
    if rule is None:
        return None
    if name.mode is None:
        host.require_mode(g, args[-1])
    guard = host.guard(name)
    operands = args[:-1] if name.mode is None else args
    widths = (build.element_type(a).width for a in operands)
    widest = max(32, operation.results[0].type.width, *widths)

    def compute(parts: Sequence[Any]) -> Results:
        value, flags = rule(g, parts)
        none = build.filled(build.mask_type(value), 0)
        return tuple(flags.get(label, none) if label else value for label in operation.labels)

    def piece(*parts: Any) -> Results:
        own = parts[: len(operands)]
        if guard is None:
            return compute(own)
        exact = partial(by_softfloat, g, operation, parts)
        return _either(g.b, guard(g.b, own), partial(compute, own), exact)

    return in_pieces(g.b, args, host.piece_bits // widest, piece)


def _either(
    b: Any, mask: Any, usual: Callable[[], Results], other: Callable[[], Results]
) -> Results:
    """What `usual` computes where the mask is set for all lanes, as it seldom isn't."""
    every = mask
    if isinstance(mask.type, ir.VectorType):
        every = build.intrinsic(b, "vector.reduce.and", [mask], build.I1)
    ways = [(b.append_basic_block(way), do) for way, do in (("usual", usual), ("other", other))]
    after = b.append_basic_block("either")
    b.cbranch(every, *(block for block, _ in ways)).set_weights([1 << 20, 1])
    found = []
    for block, do in ways:
        b.position_at_end(block)
        found.append((do(), b.block))
        b.branch(after)
    b.position_at_end(after)
    (first, one), (second, another) = found
    return tuple(build.join(b, (x, one), (y, another)) for x, y in zip(first, second, strict=True))


def by_softfloat(g: Lowerer, operation: NamedOperation, args: Sequence[Any]) -> Results:
    """The results of the definition: in place if it is short, else of a function of the module."""
    if _size(operation) <= IN_PLACE:
        return Lowerer.call(g, operation, args)
    lanes = SOFT_BITS // build.element_type(args[0]).width
    return in_pieces(g.b, args, lanes, lambda *parts: _outlined(g.b, operation, parts))


def in_pieces(b: Any, args: Sequence[Any], size: int, compute: Callable[..., Results]) -> Results:
    """`compute` on so many lanes at a time; scalars among the operands go to each piece."""
    lanes = max((a.type.count for a in args if isinstance(a.type, ir.VectorType)), default=0)
    if lanes <= size:
        return compute(*args)
    pieces = [
        compute(*(_lanes(b, a, start, size) for a in args)) for start in range(0, lanes, size)
    ]
    return tuple(build.concat(b, parts) for parts in zip(*pieces, strict=True))


def _lanes(b: Any, value: Any, start: int, size: int) -> Any:
    if not isinstance(value.type, ir.VectorType):
        return value
    return build.pick(b, value, range(start, min(start + size, value.type.count)))


def _size(operation: NamedOperation) -> int:
    """Values in a definition, as far as it matters."""
    seen: set[int] = set()
    waiting: list[Value] = list(operation.results)
    while waiting and len(seen) <= IN_PLACE:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            waiting.extend(value.args)
    return len(seen)


def _outlined(b: Any, operation: NamedOperation, args: Sequence[Any]) -> Results:
    types = [a.type for a in args]
    name = f"{operation.name} {', '.join(map(str, types))}"
    callee = b.module.globals.get(name) or _define(b.module, name, operation, types)
    together = b.call(callee, args)
    return tuple(b.extract_value(together, i) for i in range(len(operation.results)))


def _define(module: Any, name: str, operation: NamedOperation, types: Sequence[Any]) -> Any:
    """A function of the module that computes the definition."""
    lanes = max((t.count for t in types if isinstance(t, ir.VectorType)), default=None)
    if lanes is not None:
        operation = change_lanes(operation, lanes)
    results = ir.LiteralStructType([build.llvm_type(r.type) for r in operation.results])
    callee = ir.Function(module, ir.FunctionType(results, types), name)
    callee.linkage = "internal"
    callee.attributes.add("noinline")
    entry = ir.IRBuilder(callee.append_basic_block("entry"))
    b = ir.IRBuilder(callee.append_basic_block("body"))
    together = ir.Constant(results, ir.Undefined)
    for i, value in enumerate(_definition(b, Frame(entry), operation, callee.args)):
        together = b.insert_value(together, value, i)
    b.ret(together)
    entry.branch(callee.blocks[1])
    return callee


def _definition(b: Any, frame: Frame, operation: NamedOperation, args: Sequence[Any]) -> Results:
    """The results of a definition, which reaches neither state nor memory."""
    nothing: Any = None
    memory = GuestMemory(nothing, nothing, nothing, frame)
    return Lowerer(b, frame, nothing, memory, {}).call(operation, args)
