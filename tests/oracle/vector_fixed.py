"""V 12: fixed-point arithmetic with vxrm and vxsat.

`a` is the vs2 element, `b` is op1; s and u say how they are read. Only active elements set vxsat.
"""

from collections.abc import Callable

from tests.oracle.scalar import Fields, Row
from tests.oracle.vector_shape import VectorInsn, number, vector_row

RNU, RNE, RDN, ROD = range(4)


def round_off(value: int, bits: int, vxrm: int) -> int:
    """V 3.8: shift right by `bits`, rounding by `vxrm`; works on a number of any size."""
    if bits == 0:
        return value
    kept, dropped, half = value >> bits, value % (1 << bits), 1 << (bits - 1)
    if vxrm == RNU:
        increment = dropped >= half
    elif vxrm == RNE:
        increment = dropped > half or (dropped == half and kept % 2 == 1)
    elif vxrm == RDN:
        increment = False
    else:
        increment = dropped != 0 and kept % 2 == 0
    return kept + increment


def saturate(insn: VectorInsn, value: int, sign: str) -> int:
    """The nearest SEW number; a change is recorded in vxsat."""
    lowest, highest = (
        (-1 << (insn.sew - 1), (1 << (insn.sew - 1)) - 1)
        if sign == "s"
        else (0, (1 << insn.sew) - 1)
    )
    nearest = min(max(value, lowest), highest)
    if nearest != value:
        insn.state.vxsat = 1
    return nearest


Element = Callable[[VectorInsn, int, int], int]


def average(sign: int) -> Element:
    """V 12.2: the sum or difference with one more bit, halved; it wraps, never saturates."""
    return lambda insn, a, b: round_off(a + sign * b, 1, insn.state.vxrm)


def fractional_product(insn: VectorInsn, a: int, b: int) -> int:
    """V 12.3: a product of fractions in [-1, 1)."""
    return saturate(insn, round_off(a * b, insn.sew - 1, insn.state.vxrm), "s")


def scaling_shift(insn: VectorInsn, a: int, b: int) -> int:
    """V 12.4"""
    return round_off(a, b % insn.sew, insn.state.vxrm)


def clip(sign: str) -> Element:
    """V 12.5: a 2*SEW number, shifted with rounding, then brought into SEW bits."""
    return lambda insn, a, b: saturate(
        insn, round_off(a, b % (2 * insn.sew), insn.state.vxrm), sign
    )


# name: forms, signs of vs2 and op1, element function, width of vs2 in SEW
TABLE: dict[str, tuple[str, str, Element, int]] = {
    # V 12.1
    "vsaddu": ("vv vx vi", "uu", lambda insn, a, b: saturate(insn, a + b, "u"), 1),
    "vsadd": ("vv vx vi", "ss", lambda insn, a, b: saturate(insn, a + b, "s"), 1),
    "vssubu": ("vv vx", "uu", lambda insn, a, b: saturate(insn, a - b, "u"), 1),
    "vssub": ("vv vx", "ss", lambda insn, a, b: saturate(insn, a - b, "s"), 1),
    "vaaddu": ("vv vx", "uu", average(1), 1),
    "vaadd": ("vv vx", "ss", average(1), 1),
    "vasubu": ("vv vx", "uu", average(-1), 1),
    "vasub": ("vv vx", "ss", average(-1), 1),
    "vsmul": ("vv vx", "ss", fractional_product, 1),
    "vssrl": ("vv vx vi", "uu", scaling_shift, 1),
    "vssra": ("vv vx vi", "su", scaling_shift, 1),
    "vnclipu": ("wv wx wi", "uu", clip("u"), 2),
    "vnclip": ("wv wx wi", "su", clip("s"), 2),
}


def fixed_row(form: str, signs: str, function: Element, a_scale: int) -> Row:
    def body(insn: VectorInsn, fields: Fields) -> None:
        sew, vs2 = insn.sew, fields["vs2"]
        op1 = insn.operand(fields, form, sew)

        def element(i: int) -> int:
            a = number(insn.read(vs2, i, a_scale * sew), a_scale * sew, signs[0])
            return function(insn, a, number(op1(i), sew, signs[1]))

        insn.write_body(fields["vd"], sew, element)

    return vector_row(body)


ROWS: dict[str, Row] = {
    f"{name}.{form}": fixed_row(form, signs, function, a_scale)
    for name, (forms, signs, function, a_scale) in TABLE.items()
    for form in forms.split()
}
