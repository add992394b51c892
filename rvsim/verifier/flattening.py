"""Which values travel in floating-point registers: the hardware floating-point convention.

psABI, "Hardware Floating-Point Calling Convention": structures and arrays are taken apart first;
one or two floating-point numbers, or one and an integer, are passed in a register each.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rvsim.guest.c_types import Array, Enumeration, Field, Float, Integer, Structure, Type

_REGISTER_BYTES: Final = 8
"""Of the registers that carry arguments, of either kind."""

_MOST_LEAVES: Final = 2


class Leaf(NamedTuple):
    """A number in a structure: where it is in it, in bytes, and whether it is floating-point."""

    offset: int
    size: int
    is_float: bool


def float_parts(type: Type) -> tuple[Leaf, ...]:
    """The parts of a value that each have a register, at least one a floating-point number.

    Empty if the value travels as its bytes do, in integer registers or memory.

    >>> float_parts(Float("float", 4, "f32"))
    (Leaf(offset=0, size=4, is_float=True),)
    >>> float_parts(Array(Float("float", 4, "f32"), 3))
    ()
    """
    try:
        leaves = _leaves(type, {})
    except _WholeError:
        return ()
    floats = sum(leaf.is_float for leaf in leaves)
    return tuple(leaves) if floats and len(leaves) - floats <= 1 else ()


class _WholeError(Exception):
    """A value that is not taken apart."""


def _leaves(type: Type, known: dict[int, list[Leaf]]) -> list[Leaf]:
    """The numbers of a type; `known` are those of structures, which may contain each other."""
    match type:
        case Float() | Integer() | Enumeration() if type.size <= _REGISTER_BYTES:
            found = [Leaf(0, type.size, isinstance(type, Float))]
        case Array():
            found = _leaves_of_array(type, known)
        case Structure(size=0):
            found = []
        case Structure(is_union=False):
            if id(type) not in known:
                known[id(type)] = _leaves_of_structure(type, known)
            found = known[id(type)]
        case _:
            raise _WholeError
    if len(found) > _MOST_LEAVES:
        raise _WholeError
    return found


def _leaves_of_array(type: Array, known: dict[int, list[Leaf]]) -> list[Leaf]:
    if not type.count:
        return []
    each = _leaves(type.element, known)
    if each and type.count > _MOST_LEAVES:
        raise _WholeError
    repeated = range(type.count) if each else range(0)
    return [_moved(leaf, n * type.element.size) for n in repeated for leaf in each]


def _leaves_of_structure(type: Structure, known: dict[int, list[Leaf]]) -> list[Leaf]:
    found: list[Leaf] = []
    for field in type.fields:
        leaves = [_bits(field)] if field.bit_size is not None else _leaves(field.type, known)
        found += [_moved(leaf, field.offset) for leaf in leaves]
        if len(found) > _MOST_LEAVES:
            raise _WholeError
    return [leaf._replace(size=min(leaf.size, type.size - leaf.offset)) for leaf in found]


def _bits(field: Field) -> Leaf:
    """A bit field is an integer, as wide as it has to be."""
    assert field.bit_size is not None
    if field.bit_size > 8 * _REGISTER_BYTES:
        raise _WholeError
    return Leaf(0, min(field.type.size, _REGISTER_BYTES), False)


def _moved(leaf: Leaf, by: int) -> Leaf:
    return leaf._replace(offset=leaf.offset + by)
