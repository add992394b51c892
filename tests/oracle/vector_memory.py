"""V 7: vector loads and stores, element by element in element order."""

from collections.abc import Callable, Iterator

from tests.oracle.scalar import Fields, Row
from tests.oracle.state import LOAD_MISALIGNED, STORE_MISALIGNED, OracleTrap
from tests.oracle.vector_shape import ALL_ONES, VectorInsn, address, vector_row

EEWS = (8, 16, 32, 64)
Place = Callable[[int], int]


def read_memory(insn: VectorInsn, addr: int, eew: int) -> int:
    size = eew // 8
    if addr % size and not insn.state.misaligned_vector_ok:
        raise OracleTrap(LOAD_MISALIGNED, addr)
    return int.from_bytes(insn.state.mem.read(addr, size), "little")


def write_memory(insn: VectorInsn, addr: int, eew: int, value: int) -> None:
    size = eew // 8
    if addr % size and not insn.state.misaligned_vector_ok:
        raise OracleTrap(STORE_MISALIGNED, addr)
    insn.state.mem.write(addr, value.to_bytes(size, "little"))


def field_registers(insn: VectorInsn, base: int, eew: int, nfields: int) -> list[int]:
    """First register of each segment field: EMUL registers apart, at least one (V 7.8)."""
    emul = insn.lmul * eew / insn.sew
    return [base + f * max(1, int(emul)) for f in range(nfields)]


def at_element(insn: VectorInsn) -> Iterator[int]:
    """Body elements; a trap while one is handled leaves its index in vstart (V 17)."""
    for i in insn.body():
        insn.state.vstart = i
        yield i


def load_segment(insn: VectorInsn, addr: int, eew: int, nfields: int) -> list[int]:
    """All fields of one segment; the first inaccessible one traps, and no register is written."""
    return [read_memory(insn, address(addr + f * eew // 8), eew) for f in range(nfields)]


def load_elements(insn: VectorInsn, vd: int, eew: int, nfields: int, place: Place) -> None:
    """`place(i)` is the address of segment i."""
    if insn.vstart >= insn.vl:
        return
    registers = field_registers(insn, vd, eew, nfields)
    for i in at_element(insn):
        if insn.is_active(i):
            values = load_segment(insn, place(i), eew, nfields)
        elif insn.inactive_ones:
            values = [ALL_ONES] * nfields
        else:
            continue
        for reg, value in zip(registers, values, strict=True):
            insn.write(reg, i, eew, value)
    for reg in registers:
        insn.fill_tail(reg, eew, insn.vl, insn.elements_in_group(eew))


def store_elements(insn: VectorInsn, vs3: int, eew: int, nfields: int, place: Place) -> None:
    """Fields before a faulting one have been stored when the trap is taken."""
    registers = field_registers(insn, vs3, eew, nfields)
    for i in at_element(insn):
        if insn.is_active(i):
            for f, reg in enumerate(registers):
                write_memory(insn, address(place(i) + f * eew // 8), eew, insn.read(reg, i, eew))


def load_fault_only_first(insn: VectorInsn, fields: Fields, eew: int, nfields: int) -> None:
    """V 7.7: only element 0 traps; a later fault shortens vl to that element's index.

    Elements between the new and the old vl are treated as tail elements.
    """
    place = unit_stride(insn, fields, eew, nfields)
    full_vl = insn.vl
    for i in insn.body():
        if i == 0 or not insn.is_active(i):
            continue
        try:
            load_segment(insn, place(i), eew, nfields)
        except OracleTrap:
            insn.vl = i
            break
    if insn.vstart < full_vl:
        load_trimmed(insn, fields["vd"], eew, nfields, place)
    insn.state.vl = insn.vl


def load_trimmed(insn: VectorInsn, vd: int, eew: int, nfields: int, place: Place) -> None:
    if insn.vstart < insn.vl:
        load_elements(insn, vd, eew, nfields, place)
        return
    for reg in field_registers(insn, vd, eew, nfields):
        insn.fill_tail(reg, eew, insn.vl, insn.elements_in_group(eew))


def unit_stride(insn: VectorInsn, fields: Fields, eew: int, nfields: int) -> Place:
    base = insn.state.x[fields["rs1"]]
    return lambda i: address(base + i * nfields * eew // 8)


def strided(insn: VectorInsn, fields: Fields) -> Place:
    """The stride is a signed number of bytes; modulo 2**64 its sign doesn't matter."""
    base, stride = insn.state.x[fields["rs1"]], insn.state.x[fields["rs2"]]
    return lambda i: address(base + i * stride)


def indexed(insn: VectorInsn, fields: Fields, index_eew: int) -> Place:
    """Indices are unsigned byte offsets (V 7.3)."""
    base = insn.state.x[fields["rs1"]]
    return lambda i: address(base + insn.read(fields["vs2"], i, index_eew))


def unit_load(eew: int, nfields: int) -> Row:
    return vector_row(
        lambda insn, fields: load_elements(
            insn, fields["vd"], eew, nfields, unit_stride(insn, fields, eew, nfields)
        )
    )


def unit_store(eew: int, nfields: int) -> Row:
    return vector_row(
        lambda insn, fields: store_elements(
            insn, fields["vs3"], eew, nfields, unit_stride(insn, fields, eew, nfields)
        )
    )


def strided_load(eew: int, nfields: int) -> Row:
    return vector_row(
        lambda insn, fields: load_elements(insn, fields["vd"], eew, nfields, strided(insn, fields))
    )


def strided_store(eew: int, nfields: int) -> Row:
    return vector_row(
        lambda insn, fields: store_elements(
            insn, fields["vs3"], eew, nfields, strided(insn, fields)
        )
    )


def indexed_load(index_eew: int, nfields: int) -> Row:
    """Data elements are SEW wide; the mnemonic's width is the index's (V 7.2)."""
    return vector_row(
        lambda insn, fields: load_elements(
            insn, fields["vd"], insn.sew, nfields, indexed(insn, fields, index_eew)
        )
    )


def indexed_store(index_eew: int, nfields: int) -> Row:
    return vector_row(
        lambda insn, fields: store_elements(
            insn, fields["vs3"], insn.sew, nfields, indexed(insn, fields, index_eew)
        )
    )


def fault_only_first_load(eew: int, nfields: int) -> Row:
    return vector_row(lambda insn, fields: load_fault_only_first(insn, fields, eew, nfields))


def mask_load(insn: VectorInsn, fields: Fields) -> None:
    """V 7.4: ceil(vl / 8) bytes; the rest of the register is an always agnostic tail."""
    insn.vl = (insn.vl + 7) // 8
    if insn.vstart >= insn.vl:
        return
    base = insn.state.x[fields["rs1"]]
    for i in at_element(insn):
        insn.write(fields["vd"], i, 8, read_memory(insn, address(base + i), 8))
    if insn.mask_tail_ones:
        for i in range(insn.vl, insn.state.vlenb):
            insn.write(fields["vd"], i, 8, ALL_ONES)


def mask_store(insn: VectorInsn, fields: Fields) -> None:
    insn.vl = (insn.vl + 7) // 8
    base = insn.state.x[fields["rs1"]]
    for i in at_element(insn):
        write_memory(insn, address(base + i), 8, insn.read(fields["vs3"], i, 8))


def whole_load(eew: int, nregisters: int) -> Row:
    """V 7.9: EEW only sets the unit of vstart; vl and vtype play no part."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        insn.vl = nregisters * insn.state.vlen // eew
        base = insn.state.x[fields["rs1"]]
        for i in at_element(insn):
            value = read_memory(insn, address(base + i * eew // 8), eew)
            insn.write(fields["vd"], i, eew, value)

    return vector_row(body)


def whole_store(nregisters: int) -> Row:
    """V 7.9: like an unmasked store of bytes."""

    def body(insn: VectorInsn, fields: Fields) -> None:
        insn.vl = nregisters * insn.state.vlenb
        base = insn.state.x[fields["rs1"]]
        for i in at_element(insn):
            write_memory(insn, address(base + i), 8, insn.read(fields["vs3"], i, 8))

    return vector_row(body)


ROWS: dict[str, Row] = {"vlm.v": vector_row(mask_load), "vsm.v": vector_row(mask_store)}
for _eew in EEWS:
    for _nfields in range(1, 9):
        _seg = f"seg{_nfields}" if _nfields > 1 else ""
        ROWS[f"vl{_seg}e{_eew}.v"] = unit_load(_eew, _nfields)
        ROWS[f"vl{_seg}e{_eew}ff.v"] = fault_only_first_load(_eew, _nfields)
        ROWS[f"vs{_seg}e{_eew}.v"] = unit_store(_eew, _nfields)
        ROWS[f"vls{_seg}e{_eew}.v"] = strided_load(_eew, _nfields)
        ROWS[f"vss{_seg}e{_eew}.v"] = strided_store(_eew, _nfields)
        for _order in "ou":
            ROWS[f"vl{_order}x{_seg}ei{_eew}.v"] = indexed_load(_eew, _nfields)
            ROWS[f"vs{_order}x{_seg}ei{_eew}.v"] = indexed_store(_eew, _nfields)
for _nregisters in (1, 2, 4, 8):
    ROWS[f"vs{_nregisters}r.v"] = whole_store(_nregisters)
    for _eew in EEWS:
        ROWS[f"vl{_nregisters}re{_eew}.v"] = whole_load(_eew, _nregisters)
