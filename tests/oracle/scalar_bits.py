"""Zba, Zbb, Zbc, Zbs, Zbkb, Zbkc on plain Python integers."""

from collections.abc import Callable

from tests.oracle.bits import M64, signed, unsigned
from tests.oracle.scalar import Binary, Fields, Row, immediate_row, register_row, s64
from tests.oracle.state import OracleState

Unary = Callable[[int], int]


def rotate_right(value: int, amount: int, width: int) -> int:
    value, amount = unsigned(value, width), amount % width
    return unsigned(value >> amount | value << (width - amount), width)


def carryless_product(a: int, b: int) -> int:
    """The 127-bit product of two polynomials over GF(2)."""
    product = 0
    for i in range(64):
        if b >> i & 1:
            product ^= a << i
    return product


def leading_zeros(value: int, width: int) -> int:
    return width - unsigned(value, width).bit_length()


def trailing_zeros(value: int, width: int) -> int:
    for i in range(width):
        if value >> i & 1:
            return i
    return width


def map_bytes(function: Unary) -> Unary:
    """Apply `function` to each of the eight bytes."""
    return lambda value: int.from_bytes(
        bytes(function(byte) for byte in value.to_bytes(8, "little")), "little"
    )


def reverse_bits(byte: int) -> int:
    return int(f"{byte:08b}"[::-1], 2)


def rotate_right_word(value: int, amount: int) -> int:
    return signed(rotate_right(value, amount & 31, 32), 32)


REGISTER: dict[str, Binary] = {
    # Zba
    "add.uw": lambda a, b: unsigned(a, 32) + b,
    "sh1add": lambda a, b: (a << 1) + b,
    "sh2add": lambda a, b: (a << 2) + b,
    "sh3add": lambda a, b: (a << 3) + b,
    "sh1add.uw": lambda a, b: (unsigned(a, 32) << 1) + b,
    "sh2add.uw": lambda a, b: (unsigned(a, 32) << 2) + b,
    "sh3add.uw": lambda a, b: (unsigned(a, 32) << 3) + b,
    # Zbb, Zbkb
    "andn": lambda a, b: a & ~b,
    "orn": lambda a, b: a | ~b,
    "xnor": lambda a, b: ~(a ^ b),
    "max": lambda a, b: max(s64(a), s64(b)),
    "maxu": max,
    "min": lambda a, b: min(s64(a), s64(b)),
    "minu": min,
    "rol": lambda a, b: rotate_right(a, -(b & 63), 64),
    "ror": lambda a, b: rotate_right(a, b & 63, 64),
    "rolw": lambda a, b: rotate_right_word(a, -(b & 31)),
    "rorw": rotate_right_word,
    "pack": lambda a, b: unsigned(b, 32) << 32 | unsigned(a, 32),
    "packh": lambda a, b: unsigned(b, 8) << 8 | unsigned(a, 8),
    "packw": lambda a, b: signed(unsigned(b, 16) << 16 | unsigned(a, 16), 32),
    # Zbc, Zbkc
    "clmul": carryless_product,
    "clmulh": lambda a, b: carryless_product(a, b) >> 64,
    "clmulr": lambda a, b: carryless_product(a, b) >> 63,
    # Zbs
    "bclr": lambda a, b: a & ~(1 << (b & 63)),
    "bset": lambda a, b: a | 1 << (b & 63),
    "binv": lambda a, b: a ^ 1 << (b & 63),
    "bext": lambda a, b: a >> (b & 63) & 1,
}

SHIFT_IMMEDIATE: dict[str, Binary] = {
    "slli.uw": lambda a, b: unsigned(a, 32) << b,
    "rori": REGISTER["ror"],
    "roriw": rotate_right_word,
    "bclri": REGISTER["bclr"],
    "bseti": REGISTER["bset"],
    "binvi": REGISTER["binv"],
    "bexti": REGISTER["bext"],
}

UNARY: dict[str, Unary] = {
    "clz": lambda a: leading_zeros(a, 64),
    "clzw": lambda a: leading_zeros(a, 32),
    "ctz": lambda a: trailing_zeros(a, 64),
    "ctzw": lambda a: trailing_zeros(a, 32),
    "cpop": lambda a: a.bit_count(),
    "cpopw": lambda a: unsigned(a, 32).bit_count(),
    "sext.b": lambda a: signed(a, 8),
    "sext.h": lambda a: signed(a, 16),
    "zext.h": lambda a: unsigned(a, 16),
    "orc.b": map_bytes(lambda byte: 0xFF if byte else 0),
    "brev8": map_bytes(reverse_bits),
    "rev8": lambda a: int.from_bytes(a.to_bytes(8, "little"), "big"),
}


def unary_row(function: Unary) -> Row:
    def row(state: OracleState, fields: Fields) -> None:
        state.set_x(fields["rd"], function(state.x[fields["rs1"]]) & M64)

    return row


ROWS: dict[str, Row] = {name: register_row(function) for name, function in REGISTER.items()}
ROWS |= {name: immediate_row(function, "shamt") for name, function in SHIFT_IMMEDIATE.items()}
ROWS |= {name: unary_row(function) for name, function in UNARY.items()}
