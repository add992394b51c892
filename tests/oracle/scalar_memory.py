"""Integer loads and stores, the A extension, and cache-block operations."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.oracle.bits import M64, signed, unsigned
from tests.oracle.scalar import Binary, Fields, Row
from tests.oracle.state import (
    LOAD_ACCESS_FAULT,
    LOAD_MISALIGNED,
    LOAD_PAGE_FAULT,
    STORE_ACCESS_FAULT,
    STORE_MISALIGNED,
    STORE_PAGE_FAULT,
    OracleState,
    OracleTrap,
)

CACHE_BLOCK_BYTES = 64
LOADS = {"b": 1, "h": 2, "w": 4, "d": 8}


def effective_address(state: OracleState, fields: Fields) -> int:
    return (state.x[fields["rs1"]] + fields["imm"]) & M64


def load_row(size: int, is_signed: bool) -> Row:
    """RV32I 2.6; a misaligned scalar access works."""

    def row(state: OracleState, fields: Fields) -> None:
        value = int.from_bytes(state.mem.read(effective_address(state, fields), size), "little")
        state.set_x(fields["rd"], signed(value, 8 * size) if is_signed else value)

    return row


def store_row(size: int) -> Row:
    def row(state: OracleState, fields: Fields) -> None:
        value = unsigned(state.x[fields["rs2"]], 8 * size)
        state.mem.write(effective_address(state, fields), value.to_bytes(size, "little"))

    return row


@contextmanager
def as_store() -> Iterator[None]:
    """An AMO's own read faults as a store/AMO (Privileged, table of causes)."""
    store_cause = {
        LOAD_MISALIGNED: STORE_MISALIGNED,
        LOAD_ACCESS_FAULT: STORE_ACCESS_FAULT,
        LOAD_PAGE_FAULT: STORE_PAGE_FAULT,
    }
    try:
        yield
    except OracleTrap as trap:
        raise OracleTrap(store_cause.get(trap.cause, trap.cause), trap.tval) from None


def check_aligned(address: int, size: int, cause: int) -> None:
    if address % size:
        raise OracleTrap(cause, address)


def load_reserved_row(size: int) -> Row:
    """Zalrsc: remember the address; nothing else on one hart can take the reservation away."""

    def row(state: OracleState, fields: Fields) -> None:
        address = state.x[fields["rs1"]]
        check_aligned(address, size, LOAD_MISALIGNED)
        value = int.from_bytes(state.mem.read(address, size), "little")
        state.reservation = address
        state.set_x(fields["rd"], signed(value, 8 * size))

    return row


def store_conditional_row(size: int) -> Row:
    """Zalrsc: succeeds at the reserved address only, and ends the reservation either way."""

    def row(state: OracleState, fields: Fields) -> None:
        address = state.x[fields["rs1"]]
        check_aligned(address, size, STORE_MISALIGNED)
        succeeds = state.reservation == address
        if succeeds:
            value = unsigned(state.x[fields["rs2"]], 8 * size)
            state.mem.write(address, value.to_bytes(size, "little"))
        state.reservation = None
        state.set_x(fields["rd"], 0 if succeeds else 1)

    return row


def amo_row(function: Binary, size: int) -> Row:
    """Zaamo: `function` sees both operands as unsigned numbers of the access size."""

    def row(state: OracleState, fields: Fields) -> None:
        address, width = state.x[fields["rs1"]], 8 * size
        check_aligned(address, size, STORE_MISALIGNED)
        operand = unsigned(state.x[fields["rs2"]], width)
        with as_store():
            old = int.from_bytes(state.mem.read(address, size), "little")
            new = unsigned(function(old, operand), width)
            state.mem.write(address, new.to_bytes(size, "little"))
        state.set_x(fields["rd"], signed(old, width))

    return row


def amo_functions(width: int) -> dict[str, Binary]:
    return {
        "swap": lambda old, operand: operand,
        "add": lambda old, operand: old + operand,
        "xor": lambda old, operand: old ^ operand,
        "and": lambda old, operand: old & operand,
        "or": lambda old, operand: old | operand,
        "min": lambda old, operand: min(signed(old, width), signed(operand, width)),
        "max": lambda old, operand: max(signed(old, width), signed(operand, width)),
        "minu": min,
        "maxu": max,
    }


def cbo_zero(state: OracleState, fields: Fields) -> None:
    """Zicboz: zero the whole block around rs1; a fault reports rs1 itself."""
    address = state.x[fields["rs1"]]
    try:
        state.mem.write(address - address % CACHE_BLOCK_BYTES, bytes(CACHE_BLOCK_BYTES))
    except OracleTrap as trap:
        raise OracleTrap(trap.cause, address) from None


def cbo_manage(state: OracleState, fields: Fields) -> None:
    """Zicbom: a store fault where neither a load may go nor, which says less, a store."""
    with as_store():
        state.mem.read(state.x[fields["rs1"]], 1)


ROWS: dict[str, Row] = {
    "cbo.zero": cbo_zero,
    "cbo.clean": cbo_manage,
    "cbo.flush": cbo_manage,
    "cbo.inval": cbo_manage,
}
for _letter, _size in LOADS.items():
    ROWS["l" + _letter] = load_row(_size, is_signed=True)
    ROWS["s" + _letter] = store_row(_size)
    if _size < 8:
        ROWS[f"l{_letter}u"] = load_row(_size, is_signed=False)
for _letter, _size in (("w", 4), ("d", 8)):
    ROWS["lr." + _letter] = load_reserved_row(_size)
    ROWS["sc." + _letter] = store_conditional_row(_size)
    for _name, _function in amo_functions(8 * _size).items():
        ROWS[f"amo{_name}.{_letter}"] = amo_row(_function, _size)
