"""Pieces of LLVM IR that the rules share: types, splats, intrinsics, loops, spilled lanes.

Nothing here knows of instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

from rvsim.host.processor import Host, find_host
from rvsim.ir.types import Type

I1: Final = ir.IntType(1)
I8: Final = ir.IntType(8)
I32: Final = ir.IntType(32)
I64: Final = ir.IntType(64)
PTR: Final = ir.PointerType()
_MASK_BITS: Final = 64


def new_module(name: str, host: Host | None = None) -> Any:
    """A module of code for one host, which `host_of` tells all that builds it or compiles it."""
    module = ir.Module(name)
    module.host = host or find_host()
    module.triple = module.host.triple
    return module


def host_of(module: Any) -> Host:
    """The host that the code of a module is for."""
    host: Host = module.host
    return host


def llvm_type(type_: Type) -> Any:
    """``iW`` for bits, ``<n x iW>`` for lanes."""
    element = ir.IntType(type_.width)
    return element if type_.lanes is None else ir.VectorType(element, type_.lanes)


def vector(n: int, width: int) -> Any:
    return ir.VectorType(ir.IntType(width), n)


def lane_count(value: Any) -> int:
    return int(value.type.count)


def element_type(value: Any) -> Any:
    return value.type.element if isinstance(value.type, ir.VectorType) else value.type


def total_bits(type_: Any) -> int:
    if isinstance(type_, ir.VectorType):
        return int(type_.count * type_.element.width)
    return int(type_.width)


def mask_type(value: Any) -> Any:
    """The type of one bit for each lane of a value."""
    return ir.VectorType(I1, value.type.count) if isinstance(value.type, ir.VectorType) else I1


def filled(type_: Any, value: int) -> Any:
    """A constant of an LLVM type with `value` in every lane.

    >>> filled(vector(2, 8), 3).get_reference()
    '<i8 3, i8 3>'
    """
    if not isinstance(type_, ir.VectorType):
        return ir.Constant(type_, value)
    return ir.Constant(type_, [value] * type_.count if value else None)


def splat(b: Any, scalar: Any, n: int) -> Any:
    """`scalar` in `n` lanes."""
    type_ = ir.VectorType(scalar.type, n)
    first = b.insert_element(filled(type_, 0), scalar, I32(0))
    return b.shuffle_vector(first, filled(type_, 0), filled(ir.VectorType(I32, n), 0))


def pick(b: Any, value: Any, indices: Sequence[int]) -> Any:
    """Lanes at static indices."""
    table = ir.Constant(ir.VectorType(I32, len(indices)), list(indices))
    return b.shuffle_vector(value, filled(value.type, 0), table)


def opaque(b: Any, value: Any) -> Any:
    """The same lanes, of an origin that LLVM does not see; for x86-64, whose registers it names."""
    n, width = lane_count(value), element_type(value).width
    size = 512 // width
    pieces = [_opaque(b, pick(b, value, range(i, min(i + size, n)))) for i in range(0, n, size)]
    return concat(b, pieces)


def _opaque(b: Any, value: Any) -> Any:
    n = lane_count(value)
    least = max(n, 128 // element_type(value).width)
    padded = pick(b, value, [*range(n), *[0] * (least - n)]) if least > n else value
    signature = ir.FunctionType(padded.type, [padded.type])
    hidden = b.asm(signature, "", "=v,0", [padded], False)
    return pick(b, hidden, range(n)) if least > n else hidden


def concat(b: Any, parts: Sequence[Any]) -> Any:
    """Lanes one after the other, joined pairwise: a shuffle takes two vectors of one length."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    low, high = concat(b, parts[:half]), concat(b, parts[half:])
    n, m = lane_count(low), lane_count(high)
    size = max(n, m)
    low, high = (pick(b, v, [*range(k), *[0] * (size - k)]) if k < size else v
                 for v, k in ((low, n), (high, m)))  # fmt: skip
    table = [*range(n), *range(size, size + m)]
    return b.shuffle_vector(low, high, ir.Constant(ir.VectorType(I32, n + m), table))


def intrinsic(b: Any, name: str, args: Sequence[Any], result: Any = None) -> Any:
    """Call ``llvm.<name>``, overloaded on the type of the first argument."""
    type_ = args[0].type
    element = f"i{element_type(args[0]).width}"
    suffix = f"v{type_.count}{element}" if isinstance(type_, ir.VectorType) else element
    return named_call(b, f"llvm.{name}.{suffix}", args, result or type_)


def named_call(b: Any, name: str, args: Sequence[Any], result: Any) -> Any:
    """Call an external function, declared when it is first called."""
    function = b.module.globals.get(name)
    if function is None:
        function = ir.Function(b.module, ir.FunctionType(result, [a.type for a in args]), name)
    return b.call(function, list(args))


def mask_word(b: Any, mask: Any) -> Any:
    """A mask as one integer, lane 0 the lowest bit."""
    return b.bitcast(mask, ir.IntType(lane_count(mask)))


def word_mask(b: Any, word: Any) -> Any:
    """The mask of an integer, lane 0 the lowest bit.

    For AVX2, LLVM 22 takes wrong bits of an integer of 128 or more, and fails for a number of lanes
    that is no power of two (docs/hosts.md).
    """
    n = word.type.width
    if n > _MASK_BITS:
        first = b.trunc(word, ir.IntType(_MASK_BITS))
        rest = b.trunc(b.lshr(word, word.type(_MASK_BITS)), ir.IntType(n - _MASK_BITS))
        return concat(b, [word_mask(b, first), word_mask(b, rest)])
    size = 1 << (n - 1).bit_length()
    mask = b.bitcast(resized(b, word, size), vector(size, 1))
    return mask if size == n else pick(b, mask, range(n))


def resized(b: Any, value: Any, width: int) -> Any:
    """An integer zero-extended or truncated to `width` bits."""
    type_, have = ir.IntType(width), value.type.width
    return value if have == width else (b.zext if have < width else b.trunc)(value, type_)


def resized_lanes(b: Any, value: Any, width: int) -> Any:
    """Lanes zero-extended or truncated to `width` bits each."""
    type_, have = vector(lane_count(value), width), element_type(value).width
    return value if have == width else (b.zext if have < width else b.trunc)(value, type_)


def at(b: Any, base: Any, offset: Any, type_: Any = I8) -> Any:
    """Address of element `offset` of the array of `type_` at `base`."""
    return b.gep(base, [I64(offset) if isinstance(offset, int) else offset], source_etype=type_)


def join(b: Any, *incoming: tuple[Any, Any]) -> Any:
    """One value from (value, block it comes from) of each predecessor."""
    phi = b.phi(incoming[0][0].type)
    for value, block in incoming:
        phi.add_incoming(value, block)
    return phi


class Frame:
    """Stack slots of the function that is being built; they are all made on entry."""

    def __init__(self, entry: Any) -> None:
        self.entry = entry

    def array(self, n: int, width: int) -> Any:
        slot = self.entry.alloca(ir.ArrayType(ir.IntType(width), n))
        slot.type = PTR  # llvmlite still gives an alloca a typed pointer, which LLVM 22 rejects
        return slot

    def spill(self, b: Any, value: Any) -> Any:
        """Lanes as an array in memory, which a running index can reach; a mask as bytes."""
        n = lane_count(value)
        if element_type(value).width == 1:
            value = b.zext(value, vector(n, 8))
        slot = self.array(n, element_type(value).width)
        b.store(value, slot, align=1)
        return slot


def loop(b: Any, n: int, carried: Sequence[Any], body: Callable[..., Sequence[Any]]) -> list[Any]:
    """Run ``body(index, *carried)`` for each index below `n` (at least one), carrying values."""
    return loop_until(b, n, carried, lambda *args: (body(*args), None))


def loop_until(
    b: Any,
    n: int,
    carried: Sequence[Any],
    body: Callable[..., tuple[Sequence[Any], Any]],
) -> list[Any]:
    """As `loop`; the body also returns a bit that ends the loop after this round, or None."""
    before = b.block
    top, done = b.append_basic_block("loop"), b.append_basic_block("done")
    b.branch(top)
    b.position_at_end(top)
    index, phis = b.phi(I64), [b.phi(v.type) for v in carried]
    results, leave = body(index, *phis)
    following = b.add(index, I64(1))
    index.add_incoming(I64(0), before)
    index.add_incoming(following, b.block)
    for phi, first, later in zip(phis, carried, results, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(later, b.block)
    last = b.icmp_unsigned("==", following, I64(n))
    b.cbranch(last if leave is None else b.or_(last, leave), done, top)
    b.position_at_end(done)
    return list(results)
