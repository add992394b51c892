"""V 7: vector loads and stores, element by element in element order."""

from collections.abc import Callable, Iterator

from tests.oracle.scalar import Fields, Row
from tests.oracle.state import LOAD_MISALIGNED, STORE_MISALIGNED, OracleTrap
from tests.oracle.vector_shape import ALL_ONES, VectorInsn, address, vector_row

EEWS = (8, 16, 32, 64)
Place = Callable[[int], int]
Placement = Callable[[VectorInsn, Fields], Place]


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
    place = unit_stride(eew, nfields)(insn, fields)
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


def unit_stride(eew: int, nfields: int) -> Placement:
    return lambda insn, fields: (
        lambda i: address(insn.state.x[fields["rs1"]] + i * nfields * eew // 8)
    )


def strided(insn: VectorInsn, fields: Fields) -> Place:
    """The stride is a signed number of bytes; modulo 2**64 its sign doesn't matter."""
    base, stride = insn.state.x[fields["rs1"]], insn.state.x[fields["rs2"]]
    return lambda i: address(base + i * stride)


def indexed(index_eew: int) -> Placement:
    """Indices are unsigned byte offsets (V 7.2)."""
    return lambda insn, fields: (
        lambda i: address(insn.state.x[fields["rs1"]] + insn.read(fields["vs2"], i, index_eew))
    )


def load_row(eew: int | None, nfields: int, placement: Placement) -> Row:
    """Without an `eew` the data are SEW wide: indexed accesses name the index's width (V 7.3)."""
    return vector_row(
        lambda insn, fields: load_elements(
            insn, fields["vd"], eew or insn.sew, nfields, placement(insn, fields)
        )
    )


def store_row(eew: int | None, nfields: int, placement: Placement) -> Row:
    return vector_row(
        lambda insn, fields: store_elements(
            insn, fields["vs3"], eew or insn.sew, nfields, placement(insn, fields)
        )
    )


def fault_only_first_row(eew: int, nfields: int) -> Row:
    return vector_row(lambda insn, fields: load_fault_only_first(insn, fields, eew, nfields))


def load_stream(insn: VectorInsn, fields: Fields, eew: int, evl: int) -> None:
    """Elements `vstart` to `evl` - 1, unmasked, whatever vl is."""
    insn.vl = evl
    place = unit_stride(eew, 1)(insn, fields)
    for i in at_element(insn):
        insn.write(fields["vd"], i, eew, read_memory(insn, place(i), eew))


def store_stream(insn: VectorInsn, fields: Fields, evl: int) -> None:
    """Bytes `vstart` to `evl` - 1, unmasked, whatever vl is."""
    insn.vl = evl
    place = unit_stride(8, 1)(insn, fields)
    for i in at_element(insn):
        write_memory(insn, place(i), 8, insn.read(fields["vs3"], i, 8))


def mask_load(insn: VectorInsn, fields: Fields) -> None:
    """V 7.4: ceil(vl / 8) bytes; the rest of the register is an always agnostic tail."""
    evl = (insn.vl + 7) // 8
    load_stream(insn, fields, 8, evl)
    if insn.mask_tail_ones and insn.vstart < evl:
        for i in range(evl, insn.state.vlenb):
            insn.write(fields["vd"], i, 8, ALL_ONES)


def mask_store(insn: VectorInsn, fields: Fields) -> None:
    store_stream(insn, fields, (insn.vl + 7) // 8)


def whole_load_row(eew: int, nregisters: int) -> Row:
    """V 7.9: EEW sets the unit of vstart; vl and vtype play no part."""
    return vector_row(
        lambda insn, fields: load_stream(insn, fields, eew, nregisters * insn.state.vlen // eew),
        whole=True,
    )


def whole_store_row(nregisters: int) -> Row:
    """V 7.9: like an unmasked store of bytes."""
    return vector_row(
        lambda insn, fields: store_stream(insn, fields, nregisters * insn.state.vlenb),
        whole=True,
    )


ROWS: dict[str, Row] = {"vlm.v": vector_row(mask_load), "vsm.v": vector_row(mask_store)}
for _eew in EEWS:
    for _nfields in range(1, 9):
        _seg = f"seg{_nfields}" if _nfields > 1 else ""
        ROWS[f"vl{_seg}e{_eew}.v"] = load_row(_eew, _nfields, unit_stride(_eew, _nfields))
        ROWS[f"vs{_seg}e{_eew}.v"] = store_row(_eew, _nfields, unit_stride(_eew, _nfields))
        ROWS[f"vl{_seg}e{_eew}ff.v"] = fault_only_first_row(_eew, _nfields)
        ROWS[f"vls{_seg}e{_eew}.v"] = load_row(_eew, _nfields, strided)
        ROWS[f"vss{_seg}e{_eew}.v"] = store_row(_eew, _nfields, strided)
        for _order in "ou":
            ROWS[f"vl{_order}x{_seg}ei{_eew}.v"] = load_row(None, _nfields, indexed(_eew))
            ROWS[f"vs{_order}x{_seg}ei{_eew}.v"] = store_row(None, _nfields, indexed(_eew))
for _nregisters in (1, 2, 4, 8):
    ROWS[f"vs{_nregisters}r.v"] = whole_store_row(_nregisters)
    for _eew in EEWS:
        ROWS[f"vl{_nregisters}re{_eew}.v"] = whole_load_row(_eew, _nregisters)
