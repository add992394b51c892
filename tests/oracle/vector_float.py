"""V 13: vector floating-point arithmetic, as functions of one element's patterns.

In the tables `a` is the vs2 element and `b` is op1 (vs1 or fs1).  Functions get the destination's
format, patterns of that format, and the rounding mode; they give a pattern and the flags.
"""

import operator

from tests.oracle import float_exact as exact
from tests.oracle.float_exact import Binary
from tests.oracle.scalar import Fields, Row
from tests.oracle.scalar_float import PLAIN, Function, Relation, fused
from tests.oracle.vector_float_shape import BF16, FloatInsn, float_format, float_row


def swapped(function: Function) -> Function:
    return lambda fmt, a, b, rm: function(fmt, b, a, rm)


def unrounded(function: Function) -> Function:
    return lambda fmt, a, b, rm: function(fmt, a, b)


SINGLE: dict[str, tuple[str, Function]] = {
    # V 13.2
    "vfadd": ("vv vf", exact.add),
    "vfsub": ("vv vf", exact.sub),
    "vfrsub": ("vf", swapped(exact.sub)),
    # V 13.4
    "vfmul": ("vv vf", exact.mul),
    "vfdiv": ("vv vf", exact.div),
    "vfrdiv": ("vf", swapped(exact.div)),
    # V 13.11, 13.12: as the scalar instructions
    "vfmin": ("vv vf", unrounded(PLAIN["fmin"])),
    "vfmax": ("vv vf", unrounded(PLAIN["fmax"])),
    "vfsgnj": ("vv vf", unrounded(PLAIN["fsgnj"])),
    "vfsgnjn": ("vv vf", unrounded(PLAIN["fsgnjn"])),
    "vfsgnjx": ("vv vf", unrounded(PLAIN["fsgnjx"])),
}

# V 13.3, 13.5: narrow operands are converted first, which is exact.
WIDENING: dict[str, tuple[str, Function]] = {
    "vfwadd": ("vv vf wv wf", exact.add),
    "vfwsub": ("vv vf wv wf", exact.sub),
    "vfwmul": ("vv vf", exact.mul),
}

# V 13.6: op1 times the vs2 element and the vd element, or op1 times vd and vs2.
MULTIPLY_ADD: dict[str, Function] = {
    "macc": fused(False, False),
    "nmacc": fused(True, True),
    "msac": fused(False, True),
    "nmsac": fused(True, False),
}
MULTIPLY_BY_DESTINATION: dict[str, Function] = {
    "madd": fused(False, False),
    "nmadd": fused(True, True),
    "msub": fused(False, True),
    "nmsub": fused(True, False),
}

UNARY: dict[str, Function] = {
    # V 13.8, 13.9, 13.10
    "vfsqrt.v": exact.sqrt,
    "vfrsqrt7.v": lambda fmt, a, rm: exact.reciprocal_root(fmt, a),
    "vfrec7.v": exact.reciprocal,
    # V 13.14
    "vfclass.v": lambda fmt, a, rm: exact.classify(fmt, a),
}

# V 13.13: forms, the relation, and whether a quiet NaN raises NV.
COMPARE: dict[str, tuple[str, Relation, bool]] = {
    "vmfeq": ("vv vf", operator.eq, False),
    "vmfne": ("vv vf", operator.ne, False),
    "vmflt": ("vv vf", operator.lt, True),
    "vmfle": ("vv vf", operator.le, True),
    "vmfgt": ("vf", operator.gt, True),
    "vmfge": ("vf", operator.ge, True),
}


def binary_row(form: str, function: Function, scale: int = 1) -> Row:
    """`vd[i] = function(vs2[i], op1[i])`; vd, and vs2 in a `w` form, are `scale` * SEW wide."""

    def body(insn: FloatInsn, fields: Fields) -> None:
        narrow, wide = float_format(insn.sew), float_format(scale * insn.sew)
        first = wide if form[0] == "w" else narrow
        op1 = insn.float_operand(fields, form, narrow)

        def element(i: int) -> int:
            a = insn.convert(insn.read(fields["vs2"], i, first.width), first, wide)
            b = insn.convert(op1(i), narrow, wide)
            return insn.accrue(function(wide, a, b, insn.rm))

        insn.write_body(fields["vd"], wide.width, element)

    return float_row(body)


def unary_row(function: Function) -> Row:
    def body(insn: FloatInsn, fields: Fields) -> None:
        fmt = float_format(insn.sew)
        insn.write_body(
            fields["vd"],
            fmt.width,
            lambda i: insn.accrue(function(fmt, insn.read(fields["vs2"], i, fmt.width), insn.rm)),
        )

    return float_row(body)


def multiply_add_row(form: str, function: Function, by_destination: bool) -> Row:
    def body(insn: FloatInsn, fields: Fields) -> None:
        fmt, vs2, vd = float_format(insn.sew), fields["vs2"], fields["vd"]
        factor, addend = (vd, vs2) if by_destination else (vs2, vd)
        op1 = insn.float_operand(fields, form, fmt)

        def element(i: int) -> int:
            a, c = insn.read(factor, i, fmt.width), insn.read(addend, i, fmt.width)
            return insn.accrue(function(fmt, op1(i), a, c, insn.rm))

        insn.write_body(vd, fmt.width, element)

    return float_row(body)


def widening_multiply_add_row(form: str, function: Function, narrow: Binary | None = None) -> Row:
    """V 13.7; Zvfbfwma says itself what its narrow format is."""

    def body(insn: FloatInsn, fields: Fields) -> None:
        source, wide = insn.formats(narrow)
        vs2, vd = fields["vs2"], fields["vd"]
        op1 = insn.float_operand(fields, form, source)

        def element(i: int) -> int:
            a = insn.convert(insn.read(vs2, i, source.width), source, wide)
            b = insn.convert(op1(i), source, wide)
            return insn.accrue(function(wide, b, a, insn.read(vd, i, wide.width), insn.rm))

        insn.write_body(vd, wide.width, element)

    return float_row(body)


def compare_row(form: str, relation: Relation, is_signaling: bool) -> Row:
    """V 13.13: only vmfne is true for NaNs."""

    def body(insn: FloatInsn, fields: Fields) -> None:
        fmt = float_format(insn.sew)
        op1 = insn.float_operand(fields, form, fmt)

        def element(i: int) -> int:
            a, b = insn.read(fields["vs2"], i, fmt.width), op1(i)
            holds = insn.accrue(exact.compare(fmt, a, b, relation, is_signaling))
            unordered = exact.is_nan(fmt, a) or exact.is_nan(fmt, b)
            return int(relation is operator.ne) if unordered else holds

        insn.write_mask_body(fields["vd"], element)

    return float_row(body)


ROWS: dict[str, Row] = {name: unary_row(function) for name, function in UNARY.items()}
for _name, (_forms, _function) in SINGLE.items():
    for _form in _forms.split():
        ROWS[f"{_name}.{_form}"] = binary_row(_form, _function)
for _name, (_forms, _function) in WIDENING.items():
    for _form in _forms.split():
        ROWS[f"{_name}.{_form}"] = binary_row(_form, _function, scale=2)
for _name, (_forms, _relation, _signaling) in COMPARE.items():
    for _form in _forms.split():
        ROWS[f"{_name}.{_form}"] = compare_row(_form, _relation, _signaling)
for _form in ("vv", "vf"):
    for _name, _function in MULTIPLY_ADD.items():
        ROWS[f"vf{_name}.{_form}"] = multiply_add_row(_form, _function, by_destination=False)
        ROWS[f"vfw{_name}.{_form}"] = widening_multiply_add_row(_form, _function)
    for _name, _function in MULTIPLY_BY_DESTINATION.items():
        ROWS[f"vf{_name}.{_form}"] = multiply_add_row(_form, _function, by_destination=True)
    ROWS[f"vfwmaccbf16.{_form}"] = widening_multiply_add_row(_form, fused(False, False), BF16)
