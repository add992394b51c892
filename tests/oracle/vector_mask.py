"""V 15: mask registers."""

from collections.abc import Callable

from tests.oracle.scalar import Fields, Row
from tests.oracle.vector_shape import VectorInsn, vector_row

# V 15.1: `a` is the vs2 bit, `b` the vs1 bit; the lowest bit of the result counts.
LOGICAL: dict[str, Callable[[int, int], int]] = {
    "vmand": lambda a, b: a & b,
    "vmnand": lambda a, b: ~(a & b),
    "vmandn": lambda a, b: a & ~b,
    "vmxor": lambda a, b: a ^ b,
    "vmor": lambda a, b: a | b,
    "vmnor": lambda a, b: ~(a | b),
    "vmorn": lambda a, b: a | ~b,
    "vmxnor": lambda a, b: ~(a ^ b),
}


def logical_row(function: Callable[[int, int], int]) -> Row:
    def body(insn: VectorInsn, fields: Fields) -> None:
        insn.write_mask_body(
            fields["vd"],
            lambda i: function(insn.read_bit(fields["vs2"], i), insn.read_bit(fields["vs1"], i)),
        )

    return vector_row(body)


def set_elements(insn: VectorInsn, vs2: int) -> list[int]:
    """Indices of the active elements whose bit in vs2 is set, in order."""
    return [i for i in insn.body() if insn.is_active(i) and insn.read_bit(vs2, i)]


def vcpop(insn: VectorInsn, fields: Fields) -> None:
    """V 15.2: writes x[rd] for vl = 0 too."""
    insn.require_zero_vstart()
    insn.state.set_x(fields["rd"], len(set_elements(insn, fields["vs2"])))


def vfirst(insn: VectorInsn, fields: Fields) -> None:
    """V 15.3: -1 when there is none."""
    insn.require_zero_vstart()
    found = set_elements(insn, fields["vs2"])
    insn.state.set_x(fields["rd"], found[0] if found else -1)


def relative_to_first_row(function: Callable[[int, int], bool]) -> Row:
    """V 15.4 to 15.6: each active bit depends on its place relative to the first set one."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        insn.require_zero_vstart()
        found = set_elements(insn, fields["vs2"])
        first = found[0] if found else insn.vl
        insn.write_mask_body(fields["vd"], lambda i: int(function(i, first)))

    return vector_row(body)


def viota(insn: VectorInsn, fields: Fields) -> None:
    """V 15.8: how many active set bits stand before this element."""
    insn.require_zero_vstart()
    count = 0

    def element(i: int) -> int:
        nonlocal count
        before = count
        count += insn.read_bit(fields["vs2"], i)
        return before

    insn.write_body(fields["vd"], insn.sew, element)


def vid(insn: VectorInsn, fields: Fields) -> None:
    """V 15.9"""
    insn.write_body(fields["vd"], insn.sew, lambda i: i)


ROWS: dict[str, Row] = {f"{name}.mm": logical_row(function) for name, function in LOGICAL.items()}
ROWS |= {
    "vcpop.m": vector_row(vcpop),
    "vfirst.m": vector_row(vfirst),
    "vmsbf.m": relative_to_first_row(lambda i, first: i < first),
    "vmsif.m": relative_to_first_row(lambda i, first: i <= first),
    "vmsof.m": relative_to_first_row(lambda i, first: i == first),
    "viota.m": vector_row(viota),
    "vid.v": vector_row(vid),
}
