"""Zvbb, Zvkb and Zvbc: bits of vector elements, as functions of one element's number.

In the tables `a` is the vs2 element and `b` is op1 (vs1, rs1 or the immediate), both unsigned.
"""

from collections.abc import Callable

from tests.oracle.scalar import Fields, Row
from tests.oracle.scalar_bits import carryless_product, leading_zeros, trailing_zeros
from tests.oracle.vector_integer import binary_row
from tests.oracle.vector_shape import VectorInsn, vector_row

Unary = Callable[[int, int], int]


def rotate_left(a: int, amount: int, width: int) -> int:
    """`a` has `width` bits; so many more of them above, and the low ones wrapped around."""
    amount %= width
    return a << amount | a >> (width - amount)


def reverse_bits(a: int, width: int) -> int:
    return int(f"{a:0{width}b}"[::-1], 2)


def reverse_bits_in_bytes(a: int, width: int) -> int:
    octets = a.to_bytes(width // 8, "little")
    return int.from_bytes(bytes(reverse_bits(octet, 8) for octet in octets), "little")


def reverse_bytes(a: int, width: int) -> int:
    return int.from_bytes(a.to_bytes(width // 8, "little"), "big")


SINGLE: dict[str, tuple[str, Callable[[int, int, int], int]]] = {
    "vandn": ("vv vx", lambda a, b, sew: a & ~b),
    # the low log2(SEW) bits of the amount count
    "vrol": ("vv vx", rotate_left),
    "vror": ("vv vx vi", lambda a, b, sew: rotate_left(a, -b, sew)),
    # Zvbc
    "vclmul": ("vv vx", lambda a, b, sew: carryless_product(a, b)),
    "vclmulh": ("vv vx", lambda a, b, sew: carryless_product(a, b) >> sew),
}

UNARY: dict[str, Unary] = {
    "vbrev.v": reverse_bits,
    "vbrev8.v": reverse_bits_in_bytes,
    "vrev8.v": reverse_bytes,
    "vclz.v": leading_zeros,
    "vctz.v": trailing_zeros,
    "vcpop.v": lambda a, sew: a.bit_count(),
}


def unary_row(function: Unary) -> Row:
    def body(insn: VectorInsn, fields: Fields) -> None:
        sew, vs2 = insn.sew, fields["vs2"]
        insn.write_body(fields["vd"], sew, lambda i: function(insn.read(vs2, i, sew), sew))

    return vector_row(body)


ROWS: dict[str, Row] = {name: unary_row(function) for name, function in UNARY.items()}
for _name, (_forms, _function) in SINGLE.items():
    for _form in _forms.split():
        ROWS[f"{_name}.{_form}"] = binary_row(_form, "uu", _function)
for _form in ("vv", "vx", "vi"):  # the low log2(2*SEW) bits of the amount count
    ROWS[f"vwsll.{_form}"] = binary_row(
        _form, "uu", lambda a, b, sew: a << b % (2 * sew), d_scale=2
    )
