"""V 11: integer arithmetic, as functions of one element's numbers.

In the tables `a` is the vs2 element and `b` is op1 (vs1, rs1 or the immediate). The two letters say
how they are read: s signed, u unsigned. Results wrap to the destination's width when written.
"""

from collections.abc import Callable

from tests.oracle.bits import quotient, remainder
from tests.oracle.scalar import Fields, Row
from tests.oracle.vector_shape import VectorInsn, number, vector_row

Binary = Callable[[int, int, int], int]
Ternary = Callable[[int, int, int], int]
Compare = Callable[[int, int], bool]

SINGLE: dict[str, tuple[str, str, Binary]] = {
    # V 11.1
    "vadd": ("vv vx vi", "uu", lambda a, b, sew: a + b),
    "vsub": ("vv vx", "uu", lambda a, b, sew: a - b),
    "vrsub": ("vx vi", "uu", lambda a, b, sew: b - a),
    # V 11.5
    "vand": ("vv vx vi", "uu", lambda a, b, sew: a & b),
    "vor": ("vv vx vi", "uu", lambda a, b, sew: a | b),
    "vxor": ("vv vx vi", "uu", lambda a, b, sew: a ^ b),
    # V 11.6: the low log2(SEW) bits of the amount count
    "vsll": ("vv vx vi", "uu", lambda a, b, sew: a << b % sew),
    "vsrl": ("vv vx vi", "uu", lambda a, b, sew: a >> b % sew),
    "vsra": ("vv vx vi", "su", lambda a, b, sew: a >> b % sew),
    # V 11.9
    "vminu": ("vv vx", "uu", lambda a, b, sew: min(a, b)),
    "vmin": ("vv vx", "ss", lambda a, b, sew: min(a, b)),
    "vmaxu": ("vv vx", "uu", lambda a, b, sew: max(a, b)),
    "vmax": ("vv vx", "ss", lambda a, b, sew: max(a, b)),
    # V 11.10
    "vmul": ("vv vx", "uu", lambda a, b, sew: a * b),
    "vmulh": ("vv vx", "ss", lambda a, b, sew: a * b >> sew),
    "vmulhu": ("vv vx", "uu", lambda a, b, sew: a * b >> sew),
    "vmulhsu": ("vv vx", "su", lambda a, b, sew: a * b >> sew),
    # V 11.11
    "vdivu": ("vv vx", "uu", lambda a, b, sew: quotient(a, b)),
    "vdiv": ("vv vx", "ss", lambda a, b, sew: quotient(a, b)),
    "vremu": ("vv vx", "uu", lambda a, b, sew: remainder(a, b)),
    "vrem": ("vv vx", "ss", lambda a, b, sew: remainder(a, b)),
}

# V 11.2, V 11.12: two SEW elements (or a 2*SEW and a SEW one) to a 2*SEW result.
WIDENING: dict[str, tuple[str, str, Binary]] = {
    "vwaddu": ("vv vx wv wx", "uu", lambda a, b, sew: a + b),
    "vwsubu": ("vv vx wv wx", "uu", lambda a, b, sew: a - b),
    "vwadd": ("vv vx wv wx", "ss", lambda a, b, sew: a + b),
    "vwsub": ("vv vx wv wx", "ss", lambda a, b, sew: a - b),
    "vwmulu": ("vv vx", "uu", lambda a, b, sew: a * b),
    "vwmulsu": ("vv vx", "su", lambda a, b, sew: a * b),
    "vwmul": ("vv vx", "ss", lambda a, b, sew: a * b),
}

# V 11.7: the low log2(2*SEW) bits of the amount count.
NARROWING: dict[str, tuple[str, str, Binary]] = {
    "vnsrl": ("wv wx wi", "uu", lambda a, b, sew: a >> b % (2 * sew)),
    "vnsra": ("wv wx wi", "su", lambda a, b, sew: a >> b % (2 * sew)),
}

# V 11.8
COMPARE: dict[str, tuple[str, str, Compare]] = {
    "vmseq": ("vv vx vi", "uu", lambda a, b: a == b),
    "vmsne": ("vv vx vi", "uu", lambda a, b: a != b),
    "vmsltu": ("vv vx", "uu", lambda a, b: a < b),
    "vmslt": ("vv vx", "ss", lambda a, b: a < b),
    "vmsleu": ("vv vx vi", "uu", lambda a, b: a <= b),
    "vmsle": ("vv vx vi", "ss", lambda a, b: a <= b),
    "vmsgtu": ("vx vi", "uu", lambda a, b: a > b),
    "vmsgt": ("vx vi", "ss", lambda a, b: a > b),
}

# V 11.13: functions of op1, the vs2 element and the old vd element; signs don't matter as all wrap.
MULTIPLY_ADD: dict[str, Ternary] = {
    "vmacc": lambda b, a, d: b * a + d,
    "vnmsac": lambda b, a, d: -(b * a) + d,
    "vmadd": lambda b, a, d: b * d + a,
    "vnmsub": lambda b, a, d: -(b * d) + a,
}

# V 11.14: signs of the vs2 element and op1; the old vd element is 2*SEW wide.
WIDENING_MULTIPLY_ADD: dict[str, tuple[str, str]] = {
    "vwmaccu": ("vv vx", "uu"),
    "vwmacc": ("vv vx", "ss"),
    "vwmaccsu": ("vv vx", "us"),
    "vwmaccus": ("vx", "su"),
}


def binary_row(form: str, signs: str, function: Binary, a_scale: int = 1, d_scale: int = 1) -> Row:
    """`vd[i] = function(vs2[i], op1[i])`; the scales give the widths of vs2 and vd in SEW."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        sew, vs2 = insn.sew, fields["vs2"]
        op1 = insn.operand(fields, form, sew)

        def element(i: int) -> int:
            a = number(insn.read(vs2, i, a_scale * sew), a_scale * sew, signs[0])
            b = number(op1(i), sew, signs[1])
            return function(a, b, sew)

        insn.write_body(fields["vd"], d_scale * sew, element)

    return vector_row(body)


def compare_row(form: str, signs: str, function: Compare) -> Row:
    def body(insn: VectorInsn, fields: Fields) -> None:
        sew, vs2 = insn.sew, fields["vs2"]
        op1 = insn.operand(fields, form, sew)

        def element(i: int) -> int:
            a, b = number(insn.read(vs2, i, sew), sew, signs[0]), number(op1(i), sew, signs[1])
            return int(function(a, b))

        insn.write_mask_body(fields["vd"], element)

    return vector_row(body)


def multiply_add_row(form: str, function: Ternary) -> Row:
    def body(insn: VectorInsn, fields: Fields) -> None:
        sew, vs2, vd = insn.sew, fields["vs2"], fields["vd"]
        op1 = insn.operand(fields, form, sew)
        insn.write_body(
            vd, sew, lambda i: function(op1(i), insn.read(vs2, i, sew), insn.read(vd, i, sew))
        )

    return vector_row(body)


def widening_multiply_add_row(form: str, signs: str) -> Row:
    def body(insn: VectorInsn, fields: Fields) -> None:
        sew, vs2, vd = insn.sew, fields["vs2"], fields["vd"]
        op1 = insn.operand(fields, form, sew)

        def element(i: int) -> int:
            a, b = number(insn.read(vs2, i, sew), sew, signs[0]), number(op1(i), sew, signs[1])
            return a * b + insn.read(vd, i, 2 * sew)

        insn.write_body(vd, 2 * sew, element)

    return vector_row(body)


def extension_row(factor: int, sign: str) -> Row:
    """V 11.3: the source is SEW / factor wide."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        source = insn.sew // factor
        insn.write_body(
            fields["vd"],
            insn.sew,
            lambda i: number(insn.read(fields["vs2"], i, source), source, sign),
        )

    return vector_row(body)


def carry_body(form: str, subtract: bool, to_mask: bool) -> Callable[[VectorInsn, Fields], None]:
    """V 11.4: v0 is an operand in the `m` forms, never a mask: every body element is active."""
    sign = -1 if subtract else 1

    def body(insn: VectorInsn, fields: Fields) -> None:
        insn.unmasked = True
        sew, vs2 = insn.sew, fields["vs2"]
        op1 = insn.operand(fields, form, sew)

        def total(i: int) -> int:
            carry_in = insn.read_bit(0, i) if form.endswith("m") else 0
            return insn.read(vs2, i, sew) + sign * (op1(i) + carry_in)

        if to_mask:
            insn.write_mask_body(fields["vd"], lambda i: int(not 0 <= total(i) < 1 << sew))
        else:
            insn.write_body(fields["vd"], sew, total)

    return body


def merge_body(form: str) -> Callable[[VectorInsn, Fields], None]:
    """V 11.15: v0 chooses; every body element is active."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        insn.unmasked = True
        sew, vs2 = insn.sew, fields["vs2"]
        op1 = insn.operand(fields, form, sew)
        insn.write_body(
            fields["vd"], sew, lambda i: op1(i) if insn.read_bit(0, i) else insn.read(vs2, i, sew)
        )

    return body


def move_body(kind: str) -> Callable[[VectorInsn, Fields], None]:
    """V 11.16: vmv.v.v, vmv.v.x, vmv.v.i; never masked."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        insn.unmasked = True
        insn.write_body(fields["vd"], insn.sew, insn.operand(fields, "v" + kind, insn.sew))

    return body


ROWS: dict[str, Row] = {}
for _name, (_forms, _signs, _function) in SINGLE.items():
    for _form in _forms.split():
        ROWS[f"{_name}.{_form}"] = binary_row(_form, _signs, _function)
for _name, (_forms, _signs, _function) in WIDENING.items():
    for _form in _forms.split():
        _a_scale = 2 if _form.startswith("w") else 1
        ROWS[f"{_name}.{_form}"] = binary_row(_form, _signs, _function, _a_scale, d_scale=2)
for _name, (_forms, _signs, _function) in NARROWING.items():
    for _form in _forms.split():
        ROWS[f"{_name}.{_form}"] = binary_row(_form, _signs, _function, a_scale=2)
for _name, (_forms, _signs, _compare) in COMPARE.items():
    for _form in _forms.split():
        ROWS[f"{_name}.{_form}"] = compare_row(_form, _signs, _compare)
for _name, _ternary in MULTIPLY_ADD.items():
    for _form in ("vv", "vx"):
        ROWS[f"{_name}.{_form}"] = multiply_add_row(_form, _ternary)
for _name, (_forms, _signs) in WIDENING_MULTIPLY_ADD.items():
    for _form in _forms.split():
        ROWS[f"{_name}.{_form}"] = widening_multiply_add_row(_form, _signs)
for _factor in (2, 4, 8):
    ROWS[f"vzext.vf{_factor}"] = extension_row(_factor, "u")
    ROWS[f"vsext.vf{_factor}"] = extension_row(_factor, "s")
for _form in ("vvm", "vxm", "vim"):
    ROWS[f"vadc.{_form}"] = vector_row(carry_body(_form, subtract=False, to_mask=False))
    ROWS[f"vmerge.{_form}"] = vector_row(merge_body(_form))
for _form in ("vvm", "vxm"):
    ROWS[f"vsbc.{_form}"] = vector_row(carry_body(_form, subtract=True, to_mask=False))
for _form in ("vvm", "vxm", "vim", "vv", "vx", "vi"):
    ROWS[f"vmadc.{_form}"] = vector_row(carry_body(_form, subtract=False, to_mask=True))
for _form in ("vvm", "vxm", "vv", "vx"):
    ROWS[f"vmsbc.{_form}"] = vector_row(carry_body(_form, subtract=True, to_mask=True))
for _kind in "vxi":
    ROWS[f"vmv.v.{_kind}"] = vector_row(move_body(_kind))
