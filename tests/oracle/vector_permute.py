"""V 16: moves between scalars and vectors, slides, gathers, compress, whole-register moves."""

from collections.abc import Callable

from tests.oracle.bits import signed
from tests.oracle.scalar import Fields, Row
from tests.oracle.vector_shape import VectorInsn, vector_row


def vmv_x_s(insn: VectorInsn, fields: Fields) -> None:
    """V 16.1: sign-extends element 0, whatever vl and vstart are."""
    insn.state.set_x(fields["rd"], signed(insn.read(fields["vs2"], 0, insn.sew), insn.sew))


def vmv_s_x(insn: VectorInsn, fields: Fields) -> None:
    """V 16.1"""
    insn.write_scalar_element(fields["vd"], insn.sew, insn.scalar(fields["rs1"], insn.sew))


def count(insn: VectorInsn, fields: Fields, form: str) -> int:
    """An offset or index from rs1 (all 64 bits of it) or from the immediate, unsigned."""
    return insn.state.x[fields["rs1"]] if form == "vx" else fields["imm"]


def slide_up(form: str) -> Callable[[VectorInsn, Fields], None]:
    """V 16.3.1: elements below the offset keep their value, masked or not."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        sew, vd = insn.sew, fields["vd"]
        offset = count(insn, fields, form)
        if insn.vstart >= insn.vl:
            return
        for i in range(max(insn.vstart, offset), insn.vl):
            if insn.is_active(i):
                insn.write(vd, i, sew, insn.read(fields["vs2"], i - offset, sew))
            elif insn.inactive_ones:
                insn.write(vd, i, sew, -1)
        insn.fill_tail(vd, sew, insn.vl, insn.elements_in_group(sew))

    return body


def element_or_zero(insn: VectorInsn, vs2: int, index: int) -> int:
    """Slides and gathers may read past vl, and read zero past VLMAX."""
    return insn.read(vs2, index, insn.sew) if index < insn.vlmax else 0


def slide_down(form: str) -> Callable[[VectorInsn, Fields], None]:
    """V 16.3.2"""

    def body(insn: VectorInsn, fields: Fields) -> None:
        offset = count(insn, fields, form)
        insn.write_body(
            fields["vd"], insn.sew, lambda i: element_or_zero(insn, fields["vs2"], i + offset)
        )

    return body


def vslide1up(insn: VectorInsn, fields: Fields) -> None:
    """V 16.3.3"""
    sew = insn.sew
    new = insn.scalar(fields["rs1"], sew)
    insn.write_body(
        fields["vd"], sew, lambda i: insn.read(fields["vs2"], i - 1, sew) if i > 0 else new
    )


def vslide1down(insn: VectorInsn, fields: Fields) -> None:
    """V 16.3.4"""
    sew, last = insn.sew, insn.vl - 1
    new = insn.scalar(fields["rs1"], sew)
    insn.write_body(
        fields["vd"], sew, lambda i: insn.read(fields["vs2"], i + 1, sew) if i < last else new
    )


def gather_by_vector(index_eew: int | None) -> Callable[[VectorInsn, Fields], None]:
    """V 16.4: vrgather.vv has SEW indices, vrgatherei16.vv 16-bit ones."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        eew = index_eew or insn.sew
        insn.write_body(
            fields["vd"],
            insn.sew,
            lambda i: element_or_zero(insn, fields["vs2"], insn.read(fields["vs1"], i, eew)),
        )

    return body


def gather_one(form: str) -> Callable[[VectorInsn, Fields], None]:
    """V 16.4: the index isn't truncated to SEW."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        value = element_or_zero(insn, fields["vs2"], count(insn, fields, form))
        insn.write_body(fields["vd"], insn.sew, lambda i: value)

    return body


def vcompress(insn: VectorInsn, fields: Fields) -> None:
    """V 16.5: all elements after the packed ones are tail elements."""
    insn.require_zero_vstart()
    if insn.vl == 0:
        return
    sew, vd = insn.sew, fields["vd"]
    chosen = [i for i in range(insn.vl) if insn.read_bit(fields["vs1"], i)]
    for packed, i in enumerate(chosen):
        insn.write(vd, packed, sew, insn.read(fields["vs2"], i, sew))
    insn.fill_tail(vd, sew, len(chosen), insn.elements_in_group(sew))


def whole_register_move(nregisters: int) -> Row:
    """V 16.6: vstart counts SEW elements; vl plays no part."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        for i in range(insn.vstart, nregisters * insn.state.vlen // insn.sew):
            insn.write(fields["vd"], i, insn.sew, insn.read(fields["vs2"], i, insn.sew))

    return vector_row(body, whole=True)


ROWS: dict[str, Row] = {
    "vmv.x.s": vector_row(vmv_x_s),
    "vmv.s.x": vector_row(vmv_s_x),
    "vslide1up.vx": vector_row(vslide1up),
    "vslide1down.vx": vector_row(vslide1down),
    "vrgather.vv": vector_row(gather_by_vector(None)),
    "vrgatherei16.vv": vector_row(gather_by_vector(16)),
    "vcompress.vm": vector_row(vcompress),
}
for _form in ("vx", "vi"):
    ROWS[f"vslideup.{_form}"] = vector_row(slide_up(_form))
    ROWS[f"vslidedown.{_form}"] = vector_row(slide_down(_form))
    ROWS[f"vrgather.{_form}"] = vector_row(gather_one(_form))
ROWS |= {f"vmv{n}r.v": whole_register_move(n) for n in (1, 2, 4, 8)}
