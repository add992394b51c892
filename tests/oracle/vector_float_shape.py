"""What vector floating-point instructions add to the shape: formats, frm, flags, f operands."""

from collections.abc import Callable

from tests.oracle import float_exact as exact
from tests.oracle.float_exact import FORMATS, Binary, Outcome
from tests.oracle.float_registers import WIDTH, legal_mode, read_f
from tests.oracle.scalar import Fields, Row
from tests.oracle.state import ILLEGAL_INSTRUCTION, OracleState, OracleTrap
from tests.oracle.vector_shape import VectorInsn

BF16, F32 = FORMATS["bf16"], FORMATS["f32"]


def float_format(eew: int) -> Binary:
    """V 10.1: an operand that no supported format fits is reserved."""
    if eew not in WIDTH:
        raise OracleTrap(ILLEGAL_INSTRUCTION)
    return WIDTH[eew]


class FloatInsn(VectorInsn):
    """A vector instruction that traps at a reserved frm, whether or not it rounds (V 13)."""

    def __init__(self, state: OracleState, fields: Fields) -> None:
        super().__init__(state, fields)
        self.rm = legal_mode(state.frm)

    def accrue(self, outcome: Outcome) -> int:
        """The pattern of an active element's outcome, after noting its flags (V 13.1)."""
        bits, flags = outcome
        self.state.fflags |= flags
        return bits

    def convert(self, bits: int, source: Binary, target: Binary) -> int:
        """An operand as the operation sees it; widening is exact but may meet a NaN."""
        if source is target:
            return bits
        return self.accrue(exact.convert(source, target, bits, self.rm))

    def float_operand(self, fields: Fields, form: str, fmt: Binary) -> Callable[[int], int]:
        """The op1 of a form such as `vv`, `wf`; fs1 must be boxed (V 10.1)."""
        if form[1] == "v":
            return lambda i: self.read(fields["vs1"], i, fmt.width)
        value = read_f(self.state, fields["fs1"], fmt)
        return lambda i: value

    def formats(self, narrow: Binary | None) -> tuple[Binary, Binary]:
        """The formats of SEW and 2*SEW; a given narrow one is bf16, for SEW 16 (BF16 chapter)."""
        if narrow is None:
            return float_format(self.sew), float_format(2 * self.sew)
        if narrow.width != self.sew:
            raise OracleTrap(ILLEGAL_INSTRUCTION)
        return narrow, F32


FloatBody = Callable[[FloatInsn, Fields], None]


def float_row(body: FloatBody) -> Row:
    """Run `body`; vstart is zero afterwards unless it trapped (V 3.7)."""

    def row(state: OracleState, fields: Fields) -> None:
        insn = FloatInsn(state, fields)
        insn.require_vstart_of_an_element()
        body(insn, fields)
        state.vstart = 0

    return row
