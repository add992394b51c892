"""Softfloat on the IR: every result and every flag, exact, for scalars and for lanes.

An operation takes a `Format`, patterns in that format and, if it rounds, a rounding mode; it
returns the result and its `Flags`.  Each engine's exact path is this code.

>>> from rvsim import fp, ir
>>> with ir.Trace():
...     a, b = ir.param("a", 32), ir.param("b", 32)
...     total, flags = fp.add(fp.F32, a, b, fp.RNE)
>>> total.type, flags.nx.type
(bits[32], bits[1])
"""

from rvsim.fp.arithmetic import add, fma, mul, sub
from rvsim.fp.compare import (
    classify,
    eq,
    inject_negated_sign,
    inject_sign,
    inject_xored_sign,
    le,
    lt,
    maximum,
    maximum_nan,
    minimum,
    minimum_nan,
    ne,
)
from rvsim.fp.convert import convert, from_int, round_to_integral, to_int, to_int_modular
from rvsim.fp.divide import div, sqrt
from rvsim.fp.estimate import reciprocal, reciprocal_root
from rvsim.fp.flags import Flags
from rvsim.fp.formats import BF16, F16, F32, F64, Format
from rvsim.fp.operation import Result
from rvsim.fp.round import ODD, RDN, RMM, RNE, RTZ, RUP, Rounding

__all__ = [
    "BF16",
    "F16",
    "F32",
    "F64",
    "ODD",
    "RDN",
    "RMM",
    "RNE",
    "RTZ",
    "RUP",
    "Flags",
    "Format",
    "Result",
    "Rounding",
    "add",
    "classify",
    "convert",
    "div",
    "eq",
    "fma",
    "from_int",
    "inject_negated_sign",
    "inject_sign",
    "inject_xored_sign",
    "le",
    "lt",
    "maximum",
    "maximum_nan",
    "minimum",
    "minimum_nan",
    "mul",
    "ne",
    "reciprocal",
    "reciprocal_root",
    "round_to_integral",
    "sqrt",
    "sub",
    "to_int",
    "to_int_modular",
]
