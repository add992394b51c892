"""V 13.15, 13.16, 16.2, 16.3: merges, moves and slides with an f register."""

from tests.oracle.float_registers import boxed
from tests.oracle.scalar import Fields, Row
from tests.oracle.vector_float_shape import FloatInsn, float_format, float_row


def scalar(insn: FloatInsn, fields: Fields) -> int:
    return insn.float_operand(fields, "vf", float_format(insn.sew))(0)


def vfmerge(insn: FloatInsn, fields: Fields) -> None:
    """V 13.15: v0 chooses; every body element is active."""
    insn.unmasked = True
    new = scalar(insn, fields)
    insn.write_body(
        fields["vd"],
        insn.sew,
        lambda i: new if insn.read_bit(0, i) else insn.read(fields["vs2"], i, insn.sew),
    )


def vfmv_v_f(insn: FloatInsn, fields: Fields) -> None:
    """V 13.16: never masked."""
    insn.unmasked = True
    new = scalar(insn, fields)
    insn.write_body(fields["vd"], insn.sew, lambda i: new)


def vfmv_f_s(insn: FloatInsn, fields: Fields) -> None:
    """V 16.2: element 0, boxed, whatever vl and vstart are."""
    width = float_format(insn.sew).width
    insn.state.f[fields["fd"]] = boxed(insn.read(fields["vs2"], 0, width), width)


def vfmv_s_f(insn: FloatInsn, fields: Fields) -> None:
    """V 16.2"""
    insn.write_scalar_element(fields["vd"], insn.sew, scalar(insn, fields))


def vfslide1up(insn: FloatInsn, fields: Fields) -> None:
    """V 16.3.3"""
    sew, new = insn.sew, scalar(insn, fields)
    insn.write_body(
        fields["vd"], sew, lambda i: insn.read(fields["vs2"], i - 1, sew) if i > 0 else new
    )


def vfslide1down(insn: FloatInsn, fields: Fields) -> None:
    """V 16.3.4"""
    sew, new, last = insn.sew, scalar(insn, fields), insn.vl - 1
    insn.write_body(
        fields["vd"], sew, lambda i: insn.read(fields["vs2"], i + 1, sew) if i < last else new
    )


ROWS: dict[str, Row] = {
    "vfmerge.vfm": float_row(vfmerge),
    "vfmv.v.f": float_row(vfmv_v_f),
    "vfmv.f.s": float_row(vfmv_f_s),
    "vfmv.s.f": float_row(vfmv_s_f),
    "vfslide1up.vf": float_row(vfslide1up),
    "vfslide1down.vf": float_row(vfslide1down),
}
