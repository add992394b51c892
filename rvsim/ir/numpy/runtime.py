"""What generated Python calls: the primitives that are more than one NumPy expression.

Functions on scalars take and return ints in [0, 2^width); their ``_v`` twins take unsigned arrays
or ints that stand for a splat.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.hart.words import signed
from rvsim.ir.float_operation import FloatOperation, RoundingMode

Array = npt.NDArray[Any]

UNSIGNED: Final = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED: Final = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


class GuestTrap(Exception):
    """The instruction ends with a trap: mcause code, mtval, and the rule that it broke."""

    __slots__ = ("cause", "tval", "why")

    def __init__(self, cause: int, tval: int, why: str) -> None:
        super().__init__(cause, tval, why)
        self.cause = cause
        self.tval = tval
        self.why = why


def mulh_u(a: int, b: int, width: int) -> int:
    return (a * b) >> width


def mulh_s(a: int, b: int, width: int) -> int:
    return (signed(a, width) * signed(b, width)) >> width & (1 << width) - 1


def mulh_su(a: int, b: int, width: int) -> int:
    return (signed(a, width) * b) >> width & (1 << width) - 1


def quot_s(a: int, b: int, width: int) -> int:
    x, y = signed(a, width), signed(b, width)
    q = abs(x) // abs(y)
    return (-q if (x < 0) != (y < 0) else q) & (1 << width) - 1


def rem_s(a: int, b: int, width: int) -> int:
    x, y = signed(a, width), signed(b, width)
    r = abs(x) % abs(y)
    return (-r if x < 0 else r) & (1 << width) - 1


def popcount(a: int, width: int) -> int:
    return a.bit_count()


def clz(a: int, width: int) -> int:
    return width - a.bit_length()


def ctz(a: int, width: int) -> int:
    return (a & -a).bit_length() - 1 if a else width


def bswap(a: int, width: int) -> int:
    return int.from_bytes(a.to_bytes(width // 8, "little"), "big")


def bitrev8(a: int, width: int) -> int:
    return int.from_bytes(a.to_bytes(width // 8, "little").translate(_BIT_REVERSED), "little")


_BIT_REVERSED: Final = bytes(int(f"{i:08b}"[::-1], 2) for i in range(256))


# -- elementwise on arrays


def mulh_u_v(a: Array, b: Array, width: int) -> Array:
    if width < 64:
        wide = np.multiply(a, b, dtype=np.uint64)
        return (wide >> np.uint64(width)).astype(UNSIGNED[width])
    a, b = np.broadcast_arrays(np.asarray(a, np.uint64), np.asarray(b, np.uint64))
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + ((a0 * b0) >> half)
    high: Array = a1 * b1 + (middle >> half) + ((a0 * b1 + (middle & low)) >> half)
    return high


def mulh_s_v(a: Array, b: Array, width: int) -> Array:
    if width < 64:
        wide = np.multiply(_as_signed(a, width), _as_signed(b, width), dtype=np.int64)
        return (wide >> np.int64(width)).astype(UNSIGNED[width])
    return _fix_sign(_fix_sign(mulh_u_v(a, b, width), a, b, width), b, a, width)


def mulh_su_v(a: Array, b: Array, width: int) -> Array:
    return _fix_sign(mulh_u_v(a, b, width), a, b, width)


def _fix_sign(high: Array, factor: Array, other: Array, width: int) -> Array:
    """Upper half when one factor was read as unsigned but is signed: minus the other one."""
    negative = np.asarray(factor) >> UNSIGNED[width](width - 1) != 0
    zero: Any = UNSIGNED[width](0)
    corrected: Array = high - np.where(negative, other, zero)
    return corrected


def quot_s_v(a: Array, b: Array, width: int) -> Array:
    x, y = _as_signed(a, width), _as_signed(b, width)
    quotient = _magnitude(x, width) // _magnitude(y, width)
    return np.where((x < 0) != (y < 0), -quotient, quotient)


def rem_s_v(a: Array, b: Array, width: int) -> Array:
    x, y = _as_signed(a, width), _as_signed(b, width)
    rest = _magnitude(x, width) % _magnitude(y, width)
    return np.where(x < 0, -rest, rest)


def _as_signed(a: Array, width: int) -> Array:
    return np.atleast_1d(np.asarray(a, UNSIGNED[width])).view(SIGNED[width])


def _magnitude(a: Array, width: int) -> Array:
    unsigned = a.view(UNSIGNED[width])
    return np.where(a < 0, -unsigned, unsigned)


def popcount_v(a: Array, width: int) -> Array:
    return np.bitwise_count(a).astype(UNSIGNED[width])


def clz_v(a: Array, width: int) -> Array:
    one, last_place, most = _CLZ[width]
    # Below the leading bit a 0, so that no number rounds up to the next power of two; the
    # exponent of 0 is past all others.
    number = (a & ~(a >> one)) if width == 64 else a
    exponent = number.astype(np.float64).view(np.uint64) >> _F64_FRACTION
    return np.minimum(last_place - exponent, most).astype(UNSIGNED[width])


_F64_FRACTION: Final = np.array(52, np.uint64)
_CLZ: Final = {
    width: (
        np.array(1, dtype),
        np.array(1023 + width - 1, np.uint64),
        np.array(width, np.uint64),
    )
    for width, dtype in UNSIGNED.items()
}


def ctz_v(a: Array, width: int) -> Array:
    zeros: Array = np.bitwise_count(~a & (a - UNSIGNED[width](1))).astype(UNSIGNED[width])
    return zeros


def bswap_v(a: Array, width: int) -> Array:
    return a.byteswap()


def bitrev8_v(a: Array, width: int) -> Array:
    return _BIT_REVERSED_TABLE[contiguous(a).view(np.uint8)].view(UNSIGNED[width])


_BIT_REVERSED_TABLE: Final = np.frombuffer(_BIT_REVERSED, np.uint8)


# -- lanes


@cache
def lane_numbers(n: int, dtype: type) -> Array:
    numbers: Array = np.arange(n).astype(dtype)
    numbers.flags.writeable = False
    return numbers


@lru_cache(maxsize=1 << 14)
def first_lanes(n: int, count: int) -> Array:
    """The mask of lanes 0 to count - 1 of n."""
    mask: Array = np.arange(n) < count
    mask.flags.writeable = False
    return mask


@cache
def lane_table(indices: tuple[int, ...]) -> Array:
    return np.array(indices, np.intp)


@cache
def lane_const(value: int, dtype: type) -> Array:
    """A number for lanes: beside an array of no dimensions NumPy works twice as fast as beside an
    int."""
    constant: Array = np.array(value, dtype)
    constant.flags.writeable = False
    return constant


def any_lane(mask: Array) -> bool:
    return b"\1" in mask.tobytes()


def every_lane(mask: Array) -> bool:
    return b"\0" not in mask.tobytes()


def contiguous(a: Array) -> Array:
    return np.ascontiguousarray(a)


def pack(mask: Array) -> Array:
    return np.packbits(mask, bitorder="little")


def unpack(octets: Array, n: int) -> Array:
    return np.unpackbits(octets, count=n, bitorder="little").view(np.bool_)


def lanes_of_int(value: int, nbytes: int, dtype: type) -> Array:
    return np.frombuffer(value.to_bytes(nbytes, "little"), dtype)


constant_lanes = cache(lanes_of_int)
"""Tables in the text of an instruction, made once; what is made of bytes can't be written to."""


def int_of_lanes(a: Array) -> int:
    return int.from_bytes(a.tobytes(), "little")


def insert(a: Array, lane: int, element: int) -> Array:
    result = a.copy()
    result[lane] = element
    return result


def take(a: Array, index: Array) -> Array:
    n = len(a)
    if n > np.iinfo(index.dtype).max:
        return a.take(index)
    inside = index < n
    return np.where(inside, a.take(np.where(inside, index, 0).astype(np.intp)), a.dtype.type(0))


def compress(a: Array, selected: Array) -> Array:
    result = np.zeros_like(a)
    packed = a[selected]
    result[: len(packed)] = packed
    return result


def prefix_count(mask: Array, dtype: type) -> Array:
    return (np.cumsum(mask) - mask).astype(dtype)


def first(mask: Array) -> int:
    return int(mask.argmax()) if mask.any() else len(mask)


NAMESPACE: Final[dict[str, object]] = {
    "np": np,
    "bool_": np.bool_,
    "GuestTrap": GuestTrap,
    "FloatOperation": FloatOperation,
    "RoundingMode": RoundingMode,
    **{f"u{w}": t for w, t in UNSIGNED.items()},
    **{f"i{w}": t for w, t in SIGNED.items()},
    "constant_lanes": constant_lanes,
    **{
        f.__name__: f
        for f in (
            mulh_u, mulh_s, mulh_su, quot_s, rem_s, popcount, clz, ctz, bswap, bitrev8,
            mulh_u_v, mulh_s_v, mulh_su_v, quot_s_v, rem_s_v, popcount_v, clz_v, ctz_v, bswap_v,
            bitrev8_v, lane_numbers, first_lanes, lane_table, lane_const, any_lane, every_lane,
            contiguous, pack, unpack, lanes_of_int, int_of_lanes, insert, take, compress,
            prefix_count, first,
        )
    },
}  # fmt: skip
"""Globals of generated code that don't depend on a machine."""
