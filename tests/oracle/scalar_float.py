"""F, D, Zfh and Zfa arithmetic: one row for each of the three formats.

Bodies are functions of a format, the operands as patterns, and the rounding mode where there is
one; they give a pattern and the flags.
"""

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tests.oracle import float_exact as exact
from tests.oracle.float_exact import RNE, Binary, Outcome
from tests.oracle.float_registers import SUFFIX, read_f, rounding_mode, write_f
from tests.oracle.scalar import Fields, Row
from tests.oracle.state import OracleState

Function = Callable[..., Outcome]
Relation = Callable[[Any, Any], bool]


def fused(negate_product: bool, negate_addend: bool) -> Function:
    """F 6: the product and the addend are negated before the only rounding."""

    def function(fmt: Binary, a: int, b: int, c: int, rm: int) -> Outcome:
        return exact.fma(fmt, a ^ fmt.sign * negate_product, b, c ^ fmt.sign * negate_addend, rm)

    return function


# Rounded results: the operands, then the function.
ROUNDING: dict[str, tuple[str, Function]] = {
    # F 6
    "fadd": ("fs1 fs2", exact.add),
    "fsub": ("fs1 fs2", exact.sub),
    "fmul": ("fs1 fs2", exact.mul),
    "fdiv": ("fs1 fs2", exact.div),
    "fsqrt": ("fs1", exact.sqrt),
    "fmadd": ("fs1 fs2 fs3", fused(False, False)),
    "fmsub": ("fs1 fs2 fs3", fused(False, True)),
    "fnmsub": ("fs1 fs2 fs3", fused(True, False)),
    "fnmadd": ("fs1 fs2 fs3", fused(True, True)),
    # Zfa
    "fround": ("fs1", lambda fmt, a, rm: exact.round_to_integral(fmt, a, rm, False)),
    "froundnx": ("fs1", lambda fmt, a, rm: exact.round_to_integral(fmt, a, rm, True)),
}


def with_sign(sign: Callable[[int, int], int]) -> Function:
    """F 7: the first operand with another sign; NaNs are bits like others."""

    def function(fmt: Binary, a: int, b: int) -> Outcome:
        return a & ~fmt.sign | sign(a, b) & fmt.sign, 0

    return function


def extreme(greatest: bool, propagate: bool = False) -> Function:
    return lambda fmt, a, b: exact.minimum(fmt, a, b, greatest, propagate)


# Results that need no rounding.
PLAIN: dict[str, Function] = {
    "fsgnj": with_sign(lambda a, b: b),
    "fsgnjn": with_sign(lambda a, b: ~b),
    "fsgnjx": with_sign(operator.xor),
    "fmin": extreme(False),
    "fmax": extreme(True),
    "fminm": extreme(False, propagate=True),
    "fmaxm": extreme(True, propagate=True),
}

# F 8, Zfa: to an integer register; `True` raises NV for quiet NaNs too.
COMPARE: dict[str, tuple[Relation, bool]] = {
    "feq": (operator.eq, False),
    "flt": (operator.lt, True),
    "fle": (operator.le, True),
    "fltq": (operator.lt, False),
    "fleq": (operator.le, False),
}

# Zfa: constants 2 to 29 as multiples of 2**-16; 1 is the least normal number of the format.
LOAD_IMMEDIATE = [
    Fraction(n) / 65536
    for n in (
        *(1, 2, 256, 512, 4096, 8192),
        *(n << 12 for n in (4, 5, 6, 7, 8, 10, 12, 14)),
        *(n << 14 for n in (4, 5, 6, 7, 8, 10, 12)),
        *(n << 16 for n in (4, 8, 16, 128, 256, 32768, 65536)),
    )
]


def constant(fmt: Binary, index: int) -> int:
    """Zfa: constant `index` of fli; 65536 is infinity as a half."""
    if index >= 30:
        return fmt.inf if index == 30 else fmt.nan
    if index == 1:
        return 1 << fmt.fraction_bits
    value = Fraction(-1) if index == 0 else LOAD_IMMEDIATE[index - 2]
    return exact.rounded(fmt, value, RNE)[0]


def rounding_row(fmt: Binary, operands: str, function: Function) -> Row:
    def row(state: OracleState, fields: Fields) -> None:
        rm = rounding_mode(state, fields)
        values = [read_f(state, fields[name], fmt) for name in operands.split()]
        write_f(state, fields["fd"], fmt, function(fmt, *values, rm))

    return row


def plain_row(fmt: Binary, function: Function) -> Row:
    def row(state: OracleState, fields: Fields) -> None:
        a, b = read_f(state, fields["fs1"], fmt), read_f(state, fields["fs2"], fmt)
        write_f(state, fields["fd"], fmt, function(fmt, a, b))

    return row


def compare_row(fmt: Binary, relation: Relation, is_signaling: bool) -> Row:
    def row(state: OracleState, fields: Fields) -> None:
        a, b = read_f(state, fields["fs1"], fmt), read_f(state, fields["fs2"], fmt)
        holds, flags = exact.compare(fmt, a, b, relation, is_signaling)
        state.set_x(fields["rd"], holds)
        state.fflags |= flags

    return row


def classify_row(fmt: Binary) -> Row:
    """F 9"""

    def row(state: OracleState, fields: Fields) -> None:
        state.set_x(fields["rd"], exact.classify(fmt, read_f(state, fields["fs1"], fmt))[0])

    return row


def load_immediate_row(fmt: Binary) -> Row:
    """Zfa fli; `uimm` is the number of the constant."""

    def row(state: OracleState, fields: Fields) -> None:
        write_f(state, fields["fd"], fmt, (constant(fmt, fields["uimm"]), 0))

    return row


ROWS: dict[str, Row] = {}
for _letter, _fmt in SUFFIX.items():
    for _name, (_operands, _rounding) in ROUNDING.items():
        ROWS[f"{_name}.{_letter}"] = rounding_row(_fmt, _operands, _rounding)
    for _name, _plain in PLAIN.items():
        ROWS[f"{_name}.{_letter}"] = plain_row(_fmt, _plain)
    for _name, (_relation, _signaling) in COMPARE.items():
        ROWS[f"{_name}.{_letter}"] = compare_row(_fmt, _relation, _signaling)
    ROWS[f"fclass.{_letter}"] = classify_row(_fmt)
    ROWS[f"fli.{_letter}"] = load_immediate_row(_fmt)
