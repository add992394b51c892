"""What floating-point instructions share: boxed registers, rounding modes, accrued flags (F 2)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Final

from rvsim import fp, ir
from rvsim.fp import F16, F32, F64, Flags, Format, Rounding
from rvsim.hart.traps import Cause
from rvsim.insn.encoding import Encoding
from rvsim.insn.registry import Context, Insn, define, names, operand
from rvsim.insn.units import Unit
from rvsim.ir import Value
from rvsim.ir.float_operation import RoundingMode

DYNAMIC: Final = 7
"""The rm field that takes the rounding mode from frm."""

SUFFIXES: Final[dict[str, tuple[Format, str, str]]] = {
    "s": (F32, "00", "f"),
    "d": (F64, "01", "d"),
    "h": (F16, "10", "zfh"),
}
"""Format, fmt field and extension of each mnemonic suffix (F 6.4)."""


def unboxed(raw: Value, fmt: Format) -> Value:
    """The pattern in an f register; the canonical NaN if a narrow one is not NaN-boxed (F 13.2)."""
    if fmt.width == 64:
        return raw
    boxed = ir.shr_u(raw, fmt.width) == (1 << (64 - fmt.width)) - 1
    return ir.where(boxed, ir.trunc(raw, fmt.width), fmt.nan)


def boxed(pattern: Value) -> Value:
    """A pattern as an f register holds it, with ones above."""
    width = pattern.type.width
    return ir.zext(pattern, 64) | ((1 << 64) - (1 << width))


def rounding_mode(ctx: Context) -> Rounding:
    """The mode of the rm field, or of frm; traps if frm holds a reserved one (F 2.2)."""
    static = ctx.statics["rm"]
    return dynamic_mode() if static == DYNAMIC else RoundingMode(static)


def dynamic_mode() -> Value:
    """frm, which must hold one of the five modes (F 2.2)."""
    require_legal_frm()
    return ir.read("frm", 3)


def require_legal_frm() -> None:
    with ir.when(ir.lt_u(fp.RMM, ir.read("frm"))):
        ir.trap(Cause.ILLEGAL_INSTRUCTION, "frm holds a reserved rounding mode (F 2.2)")


def accrue(*raised: Flags | Value) -> None:
    """Set all that an instruction raised in fflags (F 2).

    Once for each instruction: a second write would take fflags as it was before the first.
    """
    word = ir.read("fflags")
    for flags in raised:
        word = word | (flags.accrued() if isinstance(flags, Flags) else flags)
    if word.prim != "read":
        ir.write("fflags", word)


def fp_semantics(
    body: Callable[..., object], fmt: Format, result: Format | None
) -> Callable[[Context], None]:
    """Runs a body on unboxed operands of `fmt`.

    Parameters: ``fs1 fs2 fs3`` are patterns, ``raw1 raw2`` the whole registers fs1 and fs2, ``rs1
    imm`` as in scalar bodies, ``rm`` the rounding mode, ``fmt`` the format.  The body returns None,
    a value, or (value, flags); the value goes to fd in format `result`, or to rd when that is None.
    """
    parameters = tuple(inspect.signature(body).parameters)

    def argument(ctx: Context, name: str) -> object:
        if name == "rm":
            return rounding_mode(ctx)
        if name == "fmt":
            return fmt
        if name in ("raw1", "raw2"):
            return ir.read_f(ctx.insn.source(name.replace("raw", "fs")))
        if name in ("fs1", "fs2", "fs3"):
            return unboxed(ir.read_f(ctx.insn.source(name)), fmt)
        return operand(ctx, name)

    def run(ctx: Context) -> None:
        outcome = body(*(argument(ctx, name) for name in parameters))
        if outcome is None:
            return
        value, flags = outcome if isinstance(outcome, tuple) else (outcome, None)
        if flags is not None:
            accrue(flags)
        if result is None:
            ir.write_x("rd", ir.zext(value, 64))
        else:
            ir.write_f("fd", boxed(value) if result.width < 64 else value)

    return run


def fp_insn(
    text: str,
    pattern: str,
    body: Callable[..., object],
    *,
    fmt: Format,
    result: Format | None,
    unit: Unit,
    ext: str,
    spec: str,
    doc: str = "",
    requires: str = "",
) -> None:
    """Define an instruction on f registers by its text, pattern and body."""
    name, _, syntax = text.partition(" ")
    define(
        Insn(
            name=name,
            encoding=Encoding.parse(pattern),
            syntax=syntax,
            extensions=names(ext),
            unit=unit,
            spec=spec,
            semantics=fp_semantics(body, fmt, result),
            doc=doc,
            statics=("rm",) if "rm" in pattern.split() else (),
            requires=names(requires),
        )
    )
