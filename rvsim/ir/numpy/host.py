"""Named operations on lanes that NumPy's own floating point may do, flags included.

An operation takes patterns and returns what it made of them, or None where its guard does not hold
in every lane; the definition of the operation then has to run.  All of them round to the nearest
even number.  Guards refuse infinities, NaNs and overflow, so NX and UF are the only flags, and they
follow from values alone.  Decision 3 has the reasons.

>>> import numpy as np
>>> from rvsim.ir.float_operation import FloatOperation, RoundingMode
>>> sum_of = FloatOperation("add", ("f32",), RoundingMode.RNE)
>>> with np.errstate(all="ignore"):  # as every caller has to
...     add = host_operation(sum_of, ("", "nv", "of", "nx"))
...     one, third, inf = (np.array([x], "f4").view("u4") for x in (1, 1 / 3, np.inf))
...     [lanes.tolist() for lanes in add(one, third)[:4]], add(one, inf)
([[1068149419], [False], [False], [True]], None)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache, partial
from operator import itemgetter
from typing import Any, Final, cast

import numpy as np

from rvsim.ir.float_operation import FloatOperation, FormatName, RoundingMode, Verb
from rvsim.ir.numpy.runtime import Array, any_lane, every_lane

PatternsAndFlags = tuple[Array, Array | None, Array | None] | None
"""Patterns, NX and UF, a flag that is not raised being None; or None."""

HostOperation = Callable[..., PatternsAndFlags]

HOST: Final[dict[FloatOperation, HostOperation]] = {}
"""Those that NumPy may do, none of which names RNE: that is NumPy's mode."""

_REAL: Final[dict[FormatName, Any]] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_PATTERN: Final[dict[FormatName, Any]] = {
    "f16": np.uint16,
    "bf16": np.uint16,
    "f32": np.uint32,
    "f64": np.uint64,
}
RNE: Final = RoundingMode.RNE
_F64, _U64, _I64 = np.float64, np.uint64, np.int64


def host_operation(
    name: FloatOperation, labels: Sequence[str]
) -> Callable[..., tuple[Array, ...] | None]:
    """The operation of a `call` of that name, with its results in the order of the labels and one
    more, so that there are several.  KeyError if there is none.
    """
    operation = HOST[name.without_mode(RNE)]
    known = ("", "nx", "uf")
    arrange = itemgetter(*(known.index(x) if x in known else 3 for x in labels), 3)

    def run(*patterns: Array) -> tuple[Array, ...] | None:
        found = operation(*patterns)
        if found is None:
            return None
        value, nx, uf = found
        never = _never(len(value))
        flags = never if nx is None else nx, never if uf is None else uf, never
        arranged: tuple[Array, ...] = arrange((value, *flags))
        return arranged

    return run


def has(name: FloatOperation | str) -> bool:
    """Whether NumPy may do the operation."""
    return isinstance(name, FloatOperation) and name.without_mode(RNE) in HOST


@cache
def _never(n: int) -> Array:
    flag: Array = np.zeros(n, np.bool_)
    flag.flags.writeable = False
    return flag


def _constant(value: float, real: Any) -> Array:
    return np.array(value, real)


# -- exact errors


def _sum_error(total: Array, x: Array, y: Array) -> Array:
    """x + y - total, for their rounded sum (Knuth's TwoSum)."""
    part = total - x
    error: Array = (x - (total - part)) + (y - part)
    return error


_HALF_UP: Final = np.array(1 << 26, _U64)
_UPPER_BITS: Final = np.array((1 << 64) - (1 << 27), _U64)


def _product_error(product: Array, x: Array, y: Array) -> Array:
    """x * y - product, for their rounded product in f64 (Dekker's TwoProduct)."""
    x_high = ((x.view(_U64) + _HALF_UP) & _UPPER_BITS).view(_F64)
    y_high = ((y.view(_U64) + _HALF_UP) & _UPPER_BITS).view(_F64)
    x_low, y_low = x - x_high, y - y_high
    error: Array = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return error


_ZERO_I64: Final = np.array(0, _I64)


def _to_odd(total: Array, error: Array) -> Array:
    """total + error in f64, rounded to odd: cut, and the lowest bit set if that lost something."""
    inexact = error.astype(np.bool_)
    if not any_lane(inexact):
        return total
    pattern = total.view(_I64)
    beyond = ((pattern ^ error.view(_I64)) < _ZERO_I64) & inexact
    odd: Array = ((pattern - beyond) | inexact).view(_F64)
    return odd


_LEAST_EXPONENT: Final = np.array((1023 - 480) << 53, _U64)
_EXPONENT_SPAN: Final = np.array((2 * 480) << 53, _U64)
_ONE_U64: Final = np.array(1, _U64)


def _moderate(x: Array) -> Array:
    """Where the exponent is from -480 to 480: errors of products are numbers there."""
    moderate: Array = ((x.view(_U64) << _ONE_U64) - _LEAST_EXPONENT) < _EXPONENT_SPAN
    return moderate


# -- results that are exact in f64 and then narrowed


class _Narrow:
    """A format whose numbers, and their products, f64 holds."""

    def __init__(self, name: FormatName, least_exponent: int, precision: int) -> None:
        self.name = name
        self.real = _REAL[name]
        self.pattern = _PATTERN[name]
        # What is below a quarter of a unit under the least normal number stays tiny.
        tiny = 2.0**least_exponent - 2.0 ** (least_exponent - precision - 1)
        self.not_tiny = _constant(tiny, _F64)

    def wide(self, pattern: Array) -> Array:
        number: Array = pattern.view(self.real).astype(_F64)
        return number

    def rounded(self, exact: Array) -> PatternsAndFlags:
        """The nearest numbers to exact ones, or to those rounded to odd."""
        number = exact.astype(self.real)
        back = number.astype(_F64)
        if not every_lane(np.isfinite(back)):
            return None
        return number.view(self.pattern), *self.flags(exact, back != exact)

    def flags(self, exact: Array, nx: Array) -> tuple[Array, Array | None]:
        """NX and UF."""
        return nx, (nx & (np.abs(exact) < self.not_tiny)) if any_lane(nx) else None

    def add(self, a: Array, b: Array) -> PatternsAndFlags:
        """Exact in f64 for f16 only."""
        return self.rounded(self.wide(a) + self.wide(b))

    def mul(self, a: Array, b: Array) -> PatternsAndFlags:
        return self.rounded(self.wide(a) * self.wide(b))

    def fma(self, a: Array, b: Array, c: Array) -> PatternsAndFlags:
        product, addend = self.wide(a) * self.wide(b), self.wide(c)
        total = product + addend
        return self.rounded(_to_odd(total, _sum_error(total, product, addend)))

    def div(self, a: Array, b: Array) -> PatternsAndFlags:
        x, y = self.wide(a), self.wide(b)
        quotient = x / y  # 53 bits are enough for a second rounding to be harmless
        number = quotient.astype(self.real)
        back = number * y
        if not every_lane(np.isfinite(back)):
            return None
        return number.view(self.pattern), *self.flags(quotient, back != x)

    def sqrt(self, a: Array) -> PatternsAndFlags:
        x = self.wide(a)
        number = np.sqrt(x).astype(self.real)
        root = number.astype(_F64)
        if not every_lane(np.isfinite(root)):
            return None
        return number.view(self.pattern), root * root != x, None


_F16: Final = _Narrow("f16", -14, 11)
_F32: Final = _Narrow("f32", -126, 24)

# -- f32 and f64 at their own width


def _add(name: FormatName) -> HostOperation:
    real, pattern = _REAL[name], _PATTERN[name]

    def add(a: Array, b: Array) -> PatternsAndFlags:
        x, y = a.view(real), b.view(real)
        total = x + y
        error = _sum_error(total, x, y)
        if not every_lane(np.isfinite(error)):
            return None
        return total.view(pattern), error.astype(np.bool_), None

    return add


_ZERO_F64: Final = np.array(0, _F64)


def _mul_f64(a: Array, b: Array) -> PatternsAndFlags:
    x, y = a.view(_F64), b.view(_F64)
    product = x * y
    moderate = _moderate(x) & _moderate(y)
    nx = _product_error(product, x, y).astype(np.bool_)
    if not every_lane(moderate):
        zero = ((x == _ZERO_F64) | (y == _ZERO_F64)) & np.isfinite(product)
        if not every_lane(moderate | zero):
            return None
        nx &= ~zero
    return product.view(_U64), nx, None


def _fma_f64(a: Array, b: Array, c: Array) -> PatternsAndFlags:
    """Boldo and Melquiond, "Emulation of FMA and correctly rounded sums"."""
    x, y, addend = a.view(_F64), b.view(_F64), c.view(_F64)
    product = x * y
    low = _product_error(product, x, y)
    factors, moderate = _moderate(x) & _moderate(y), _moderate(addend)
    if not every_lane(factors & moderate):
        zero = ((x == _ZERO_F64) | (y == _ZERO_F64)) & np.isfinite(product)
        if not every_lane((factors | zero) & (moderate | (addend == _ZERO_F64))):
            return None
        low = np.where(zero, _ZERO_F64, low)
    lower = addend + low
    upper = product + lower
    rest, rest_low = _sum_error(upper, product, lower), _sum_error(lower, addend, low)
    tail = rest + rest_low
    tail = _to_odd(tail, _sum_error(tail, rest, rest_low))
    total = upper + tail
    nx = (tail - (total - upper)).astype(np.bool_)
    zero = total == _ZERO_F64
    if any_lane(zero):
        total = np.where(zero, product + addend, total)  # with the sign that a sum has
    return total.view(_U64), nx, None


def _div_f64(a: Array, b: Array) -> PatternsAndFlags:
    x, y = a.view(_F64), b.view(_F64)
    quotient = x / y
    product = quotient * y
    nx = (product != x) | _product_error(product, quotient, y).astype(np.bool_)
    moderate = _moderate(x) & _moderate(quotient)
    if not every_lane(moderate):
        zero = (x == _ZERO_F64) & (quotient == _ZERO_F64)
        if not every_lane(moderate | zero):
            return None
        nx &= ~zero
    return quotient.view(_U64), nx, None


def _sqrt_f64(a: Array) -> PatternsAndFlags:
    x = a.view(_F64)
    root = np.sqrt(x)
    square = root * root
    nx = (square != x) | _product_error(square, root, root).astype(np.bool_)
    moderate = _moderate(root)
    if not every_lane(moderate):
        zero = x == _ZERO_F64
        if not every_lane(moderate | zero):
            return None
        nx &= ~zero
    return root.view(_U64), nx, None


# -- conversions


def _widen(source: FormatName, target: FormatName) -> HostOperation:
    def convert(a: Array) -> PatternsAndFlags:
        number = a.view(_REAL[source]).astype(_REAL[target])
        if not every_lane(np.isfinite(number)):
            return None
        return number.view(_PATTERN[target]), None, None

    return convert


_BF16_BITS: Final = np.array(16, np.uint32)
_BF16_UP: Final = np.array(0x7FFF, np.uint32)
_BF16_KEPT: Final = np.array(0xFFFF0000, np.uint32)
_ONE_U32: Final = np.array(1, np.uint32)
_BF16_NOT_TINY: Final = np.array(2.0**-126 - 2.0**-135, np.float32)


def _widen_bf16(a: Array) -> PatternsAndFlags:
    wide = a.astype(np.uint32) << _BF16_BITS
    return (wide, None, None) if every_lane(np.isfinite(wide.view(np.float32))) else None


def _narrow_bf16(a: Array) -> PatternsAndFlags:
    kept = (a + _BF16_UP + ((a >> _BF16_BITS) & _ONE_U32)) & _BF16_KEPT
    x, nx = a.view(np.float32), kept != a
    # The first test is for NaNs, which may carry into a number.
    if not every_lane(np.isfinite(x)) or not every_lane(np.isfinite(kept.view(np.float32))):
        return None
    uf = (nx & (np.abs(x) < _BF16_NOT_TINY)) if any_lane(nx) else None
    return (kept >> _BF16_BITS).astype(np.uint16), nx, uf


def _to_int(
    name: FormatName, width: int, *, signed: bool, whole: Callable[[Array], Array]
) -> HostOperation:
    source = _REAL[name]
    real: Any = np.float32 if name == "f16" else source
    kind, pattern = np.dtype(f"{'iu'[not signed]}{width // 8}"), np.dtype(f"u{width // 8}")
    least = _constant(-(2.0 ** (width - 1)) if signed else 0, real)
    past = _constant(2.0 ** (width - signed), real)

    def to_int(a: Array) -> PatternsAndFlags:
        x = a.view(source)
        if real is not source:
            x = x.astype(real)
        number = whole(x)
        if not every_lane(number >= least) or not every_lane(number < past):
            return None
        return number.astype(kind).view(pattern), number != x, None

    return to_int


def _from_int(name: FormatName, width: int, *, signed: bool) -> HostOperation:
    real, pattern = _REAL[name], _PATTERN[name]
    kind = np.dtype(f"{'iu'[not signed]}{width // 8}")

    def from_int(a: Array) -> PatternsAndFlags:
        wide = a.view(kind).astype(_F64)
        number = wide.astype(real)
        back = number.astype(_F64)
        if not every_lane(np.isfinite(back)):
            return None
        return number.view(pattern), back != wide, None

    return from_int


def _from_int64(name: FormatName, *, signed: bool) -> HostOperation:
    real, pattern = _REAL[name], _PATTERN[name]
    kind: Any = _I64 if signed else _U64
    past = _constant(2.0 ** (64 - signed), real)  # rounding up may give this

    def from_int(a: Array) -> PatternsAndFlags:
        integer = a.view(kind)
        number = integer.astype(real)
        if not every_lane(number < past):
            return None
        return number.view(pattern), number.astype(kind) != integer, None

    return from_int


def _fill() -> None:
    _fill_arithmetic()
    _fill_conversions()
    _fill_integers()


def _fill_arithmetic() -> None:
    for narrow in (_F16, _F32):
        for operation in (narrow.mul, narrow.fma, narrow.div, narrow.sqrt):
            HOST[FloatOperation(cast(Verb, operation.__name__), (narrow.name,))] = operation
    HOST.update({
        FloatOperation("add", ("f16",)): _F16.add,
        FloatOperation("add", ("f32",)): _add("f32"),
        FloatOperation("add", ("f64",)): _add("f64"),
        FloatOperation("mul", ("f64",)): _mul_f64,
        FloatOperation("fma", ("f64",)): _fma_f64,
        FloatOperation("div", ("f64",)): _div_f64,
        FloatOperation("sqrt", ("f64",)): _sqrt_f64,
    })  # fmt: skip


def _fill_conversions() -> None:
    conversions: dict[tuple[FormatName, FormatName], HostOperation] = {
        ("f16", "f32"): _widen("f16", "f32"),
        ("f32", "f64"): _widen("f32", "f64"),
        ("bf16", "f32"): _widen_bf16,
        ("f32", "f16"): lambda a: _F16.rounded(_F32.wide(a)),
        ("f64", "f32"): lambda a: _F32.rounded(a.view(_F64)),
        ("f32", "bf16"): _narrow_bf16,
    }
    HOST.update({FloatOperation("convert", of): run for of, run in conversions.items()})


_INTEGER_WIDTHS: Final[dict[FormatName, tuple[int, ...]]] = {
    "f16": (8, 16, 32),
    "f32": (16, 32, 64),
    "f64": (32, 64),
}
"""Of integers that each format is converted from and to."""


def _fill_integers() -> None:
    for name, signed in itertools.product(_INTEGER_WIDTHS, (False, True)):
        widths = _INTEGER_WIDTHS[name]
        for width, (mode, whole) in itertools.product(
            widths, ((None, np.rint), (RoundingMode.RTZ, np.trunc))
        ):
            to = FloatOperation("to_int", (name,), mode, width, signed)
            HOST[to] = _to_int(name, width, signed=signed, whole=whole)
        HOST[FloatOperation("from_int", (name,), signed=signed)] = _by_width(
            {
                w: (_from_int64 if w == 64 else partial(_from_int, width=w))(name, signed=signed)
                for w in widths
            }
        )


def _by_width(operations: dict[int, HostOperation]) -> HostOperation:
    """The operation for the width of its first operand, which its name doesn't tell."""

    def run(a: Array) -> PatternsAndFlags:
        operation = operations.get(8 * a.itemsize)
        return None if operation is None else operation(a)

    return run


_fill()
