"""F, D, Zfh, Zfbfmin: loads, stores, moves of bits, and conversions."""

from tests.oracle import float_exact as exact
from tests.oracle.bits import signed, unsigned
from tests.oracle.float_exact import FORMATS, Binary
from tests.oracle.float_registers import SUFFIX, boxed, read_f, rounding_mode, write_f
from tests.oracle.scalar import Fields, Row
from tests.oracle.scalar_memory import effective_address
from tests.oracle.state import OracleState

SP = 2
STORAGE = {"h": 16, "w": 32, "d": 64}
INTEGERS = {"w": (32, True), "wu": (32, False), "l": (64, True), "lu": (64, False)}
FLOATS = {**SUFFIX, "bf16": FORMATS["bf16"]}


def load_row(width: int) -> Row:
    """F 5: the bits as they are, boxed."""

    def row(state: OracleState, fields: Fields) -> None:
        data = state.mem.read(effective_address(state, fields), width // 8)
        state.f[fields["fd"]] = boxed(int.from_bytes(data, "little"), width)

    return row


def store_row(width: int) -> Row:
    """D 2: a store ignores the box."""

    def row(state: OracleState, fields: Fields) -> None:
        low = unsigned(state.f[fields["fs2"]], width)
        state.mem.write(effective_address(state, fields), low.to_bytes(width // 8, "little"))

    return row


def on_stack(row: Row) -> Row:
    return lambda state, fields: row(state, {**fields, "rs1": SP})


def move_to_integer_row(width: int) -> Row:
    """F 7: the low bits, box or not, sign-extended."""

    def row(state: OracleState, fields: Fields) -> None:
        state.set_x(fields["rd"], signed(state.f[fields["fs1"]], width))

    return row


def move_from_integer_row(width: int) -> Row:
    def row(state: OracleState, fields: Fields) -> None:
        state.f[fields["fd"]] = boxed(unsigned(state.x[fields["rs1"]], width), width)

    return row


def to_integer_row(fmt: Binary, width: int, is_signed: bool) -> Row:
    """F 7: a 32-bit result is sign-extended, an unsigned one as well."""

    def row(state: OracleState, fields: Fields) -> None:
        rm = rounding_mode(state, fields)
        value = read_f(state, fields["fs1"], fmt)
        bits, flags = exact.to_int(fmt, value, width, is_signed, rm)
        state.set_x(fields["rd"], signed(bits, width))
        state.fflags |= flags

    return row


def from_integer_row(fmt: Binary, width: int, is_signed: bool) -> Row:
    def row(state: OracleState, fields: Fields) -> None:
        rm = rounding_mode(state, fields)
        value = unsigned(state.x[fields["rs1"]], width)
        write_f(state, fields["fd"], fmt, exact.from_int(fmt, value, width, is_signed, rm))

    return row


def convert_row(source: Binary, target: Binary) -> Row:
    """D 5; a widening conversion checks its rounding mode too (F 2)."""

    def row(state: OracleState, fields: Fields) -> None:
        rm = rounding_mode(state, fields)
        value = read_f(state, fields["fs1"], source)
        write_f(state, fields["fd"], target, exact.convert(source, target, value, rm))

    return row


def fcvtmod(state: OracleState, fields: Fields) -> None:
    """Zfa: as fcvt.w.d towards zero, flags too, but modulo 2**32; its rm field can only be 1."""
    bits, flags = exact.to_int_modular(SUFFIX["d"], read_f(state, fields["fs1"], SUFFIX["d"]))
    state.set_x(fields["rd"], signed(bits, 32))
    state.fflags |= flags


CONVERSIONS = [(a, b) for a in SUFFIX for b in SUFFIX if a != b] + [("bf16", "s"), ("s", "bf16")]

ROWS: dict[str, Row] = {"fcvtmod.w.d": fcvtmod}
for _letter, _width in STORAGE.items():
    ROWS[f"fl{_letter}"] = load_row(_width)
    ROWS[f"fs{_letter}"] = store_row(_width)
    ROWS[f"fmv.x.{_letter}"] = move_to_integer_row(_width)
    ROWS[f"fmv.{_letter}.x"] = move_from_integer_row(_width)
for _letter, _fmt in SUFFIX.items():
    for _integer, (_width, _signed) in INTEGERS.items():
        ROWS[f"fcvt.{_integer}.{_letter}"] = to_integer_row(_fmt, _width, _signed)
        ROWS[f"fcvt.{_letter}.{_integer}"] = from_integer_row(_fmt, _width, _signed)
for _to, _from in CONVERSIONS:
    ROWS[f"fcvt.{_to}.{_from}"] = convert_row(FLOATS[_from], FLOATS[_to])
ROWS |= {
    # Zcd
    "c.fld": ROWS["fld"],
    "c.fsd": ROWS["fsd"],
    "c.fldsp": on_stack(ROWS["fld"]),
    "c.fsdsp": on_stack(ROWS["fsd"]),
}
