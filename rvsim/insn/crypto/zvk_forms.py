"""Makers of vector cryptography: instructions on groups of 4 or 8 elements, and their tables (Zvk).

A body's parameters name what it works on, in lanes of SEW bits: ``vd``, ``vs2``, ``vs1``; ``uimm``
is a Python int, because a trace is specialised on it.  It returns the lanes of vd.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rvsim import ir
from rvsim.hart.traps import Cause
from rvsim.insn.encoding import Encoding
from rvsim.insn.registry import Context, Insn, define, names
from rvsim.insn.units import Unit
from rvsim.insn.vector.forms import shape_of
from rvsim.ir import Value
from rvsim.vec.groups import ELEMENT_GROUP, SEW, VReg
from rvsim.vec.rules import Rule, element_groups, no_source_overlap, sew_is

Body = Callable[..., Value]

_KNOWN_VALUES: Final = {"full": (), "vl": ("vl",), "vstart": ("vl", "vstart")}


def group_insn(
    text: str,
    pattern: str,
    body: Body,
    *,
    ext: str,
    unit: Unit,
    spec: str,
    size: int = 4,
    rules: tuple[Rule, ...] = (),
    apart: str = "",
) -> None:
    """Define an instruction on groups of `size` elements.

    A ``.vs`` form takes group 0 of vs2 for all groups of vd.  vd may not overlap the sources named
    in `apart`, nor vs2 in a ``.vs`` form; without `rules` on it, SEW is 32.
    """
    name, _, syntax = text.partition(" ")
    parameters = tuple(inspect.signature(body).parameters)
    scalar = name.endswith(".vs")
    sources = {"vs2": ELEMENT_GROUP if scalar else SEW, "vs1": SEW}
    fields = names(apart) or (("vs2",) if scalar else ())
    define(
        Insn(
            name=name,
            encoding=Encoding.parse(pattern),
            syntax=syntax,
            extensions=names(ext),
            unit=unit,
            spec=spec,
            semantics=_group_semantics(body, parameters, size),
            doc=inspect.getdoc(body) or "",
            statics=tuple(p for p in parameters if p == "uimm"),
            vregs=(
                VReg("vd", SEW, dest=True, source="vd" in parameters),
                *(VReg(field, eew) for field, eew in sources.items() if field in parameters),
            ),
            rules=(
                *(rules or (sew_is(32, spec=spec),)),
                element_groups(size, spec),
                *((no_source_overlap(*fields, spec=spec),) if fields else ()),
            ),
            vector=True,
        )
    )


def _group_semantics(
    body: Body, parameters: tuple[str, ...], size: int
) -> Callable[[Context], None]:
    def run(ctx: Context) -> None:
        _require_whole_groups(ctx, size)
        shape = shape_of(ctx, masked=False)
        n, sew = shape.n, ctx.v.sew
        arguments: list[Value | int] = []
        for operand in parameters:
            if operand == "uimm":
                arguments.append(ctx.statics["uimm"])
            elif operand == "vs2" and ctx.insn.name.endswith(".vs"):
                group = ir.read_v("vs2", size, sew)
                arguments.append(ir.shuffle(group, [i % size for i in range(n)]))
            else:
                arguments.append(ir.read_v(operand, n, sew))
        shape.write("vd", body(*arguments))
        shape.done()

    return run


def _require_whole_groups(ctx: Context, size: int) -> None:
    """Trap when vl or vstart is no multiple of the size of an element group."""
    for name in _KNOWN_VALUES[ctx.elements]:
        with ir.when(ir.read(name) & (size - 1) != 0):
            why = f"{name} is not a multiple of {size}, the size of an element group"
            ir.trap(Cause.ILLEGAL_INSTRUCTION, f"{why} ({ctx.insn.spec})")


def elements(groups: Value, size: int = 4) -> Iterator[Value]:
    """Element 0 of each group, element 1 of each group, and so on."""
    n = groups.type.lanes or 0
    return (ir.shuffle(groups, range(k, n, size)) for k in range(size))


def runs(lanes: Value, count: int) -> Iterator[Value]:
    """The lanes cut into `count` runs of one length."""
    n = (lanes.type.lanes or 0) // count
    return (ir.shuffle(lanes, range(k * n, k * n + n)) for k in range(count))


def grouped(*columns: Value, size: int = 4) -> Value:
    """The groups whose `elements` these are, one or more of them in each value."""
    flat = ir.concat(*columns)
    n = (flat.type.lanes or 0) // size
    return ir.shuffle(flat, [i % size * n + i // size for i in range(size * n)])


def rotated_right(x: Value, amount: int) -> Value:
    """Rotated by a constant less than the width."""
    return ir.shr_u(x, amount) | (x << (x.type.width - amount))


# -- tables


def look_up(table: Sequence[int], octets: Value, width: int = 8) -> Value:
    """For each byte an entry of a table of 256, in lanes of `width` bits."""
    number = sum(entry << width * i for i, entry in enumerate(table))
    entries = ir.bitcast(ir.const(number, 256 * width), ir.lanes(256, width))
    return ir.take(entries, octets)


def octets_of(words: Value) -> Value:
    """The bytes of lanes, as lanes of 8 bits."""
    n, width = words.type.lanes or 0, words.type.width
    return ir.bitcast(words, ir.lanes(n * width // 8, 8))


def substitute(table: bytes, words: Value) -> Value:
    """Each byte of 32-bit lanes through a table."""
    return ir.bitcast(look_up(table, octets_of(words)), words.type)


def diffuse(table: Sequence[int], octets: Value) -> Value:
    """32-bit lanes from four bytes each: the sum over GF(2) of table entries turned left by 8 bits
    for each byte below, which is any substitution followed by a circulant linear map.
    """
    turned = (
        look_up([(entry << 8 * k | entry >> 32 - 8 * k) & 0xFFFF_FFFF for entry in table], row, 32)
        for k, row in enumerate(elements(octets))
    )
    first, second, third, fourth = turned
    return first ^ second ^ third ^ fourth
