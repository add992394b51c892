"""One vector instruction's view of the state: element sets, sources as they were, policies.

V 5.4 names the four element sets: prestart, active, inactive, tail.
"""

from collections.abc import Callable
from fractions import Fraction

from tests.oracle.bits import M64, signed, unsigned
from tests.oracle.scalar import Fields
from tests.oracle.state import ILLEGAL_INSTRUCTION, OracleState, OracleTrap

ALL_ONES = -1


def lmul_of(vtype: int) -> Fraction:
    """V 3.4.2: vlmul is a signed power of two."""
    return Fraction(2) ** signed(vtype, 3)


def sew_of(vtype: int) -> int:
    return 8 << (vtype >> 3 & 7)


class VectorInsn:
    """What one vector instruction reads (as it was before it) and writes (as it goes)."""

    def __init__(self, state: OracleState, fields: Fields) -> None:
        self.state = state
        self.before = bytes(state.v)
        self.sew = sew_of(state.vtype)
        self.lmul = lmul_of(state.vtype)
        self.vlmax = int(self.lmul * state.vlen / self.sew)
        self.vl = state.vl
        self.vstart = state.vstart
        self.unmasked = fields.get("vm", 1) == 1
        self.tail_ones = state.agnostic == "ones" and bool(state.vtype >> 6 & 1)
        self.inactive_ones = state.agnostic == "ones" and bool(state.vtype >> 7 & 1)
        self.mask_tail_ones = state.agnostic == "ones"

    def place(self, reg: int, index: int, eew: int) -> tuple[int, int]:
        """The bytes of an element in the register file (V 4)."""
        start = reg * self.state.vlenb + index * eew // 8
        end = start + eew // 8
        if end > len(self.before):
            raise IndexError(f"element {index} of the group at v{reg} is past v31")
        return start, end

    def read(self, reg: int, index: int, eew: int) -> int:
        """Element `index` of the group at `reg`, unsigned, from before the instruction."""
        start, end = self.place(reg, index, eew)
        return int.from_bytes(self.before[start:end], "little")

    def read_bit(self, reg: int, index: int) -> int:
        """Mask bit `index` of `reg`, from before the instruction (V 4.5)."""
        return self.before[reg * self.state.vlenb + index // 8] >> index % 8 & 1

    def write(self, reg: int, index: int, eew: int, value: int) -> None:
        """Write an element; `value` wraps to the element's width."""
        start, end = self.place(reg, index, eew)
        self.state.v[start:end] = unsigned(value, eew).to_bytes(eew // 8, "little")

    def write_bit(self, reg: int, index: int, value: int) -> None:
        byte = reg * self.state.vlenb + index // 8
        bit = 1 << index % 8
        self.state.v[byte] = self.state.v[byte] | bit if value & 1 else self.state.v[byte] & ~bit

    def body(self) -> range:
        return range(self.vstart, self.vl)

    def is_active(self, index: int) -> bool:
        """Whether body element `index` is enabled by v0."""
        return self.unmasked or self.read_bit(0, index) == 1

    def scalar(self, rs1: int, width: int) -> int:
        """V 10: the low bits of an x register, as an element's worth of bits."""
        return unsigned(self.state.x[rs1], width)

    def operand(self, fields: Fields, form: str, width: int) -> Callable[[int], int]:
        """The op1 of a form such as `vv`, `wx`, `vim`, as unsigned bits of `width` (V 10)."""
        kind = form[1]
        if kind == "v":
            return lambda i: self.read(fields["vs1"], i, width)
        value = self.scalar(fields["rs1"], width) if kind == "x" else unsigned(fields["imm"], width)
        return lambda i: value

    def elements_in_group(self, eew: int) -> int:
        """V 5.4: elements up to the end of the group, or of the register when EMUL < 1."""
        return max(self.vlmax, self.state.vlen // eew)

    def fill_tail(self, reg: int, eew: int, start: int, end: int) -> None:
        """Apply the tail policy to elements `start` to `end` - 1."""
        if self.tail_ones:
            for i in range(start, end):
                self.write(reg, i, eew, ALL_ONES)

    def write_body(self, vd: int, eew: int, element: Callable[[int], int]) -> None:
        """The usual shape: `element(i)` for active ones, policies for the others."""
        if self.vstart >= self.vl:
            return
        for i in self.body():
            if self.is_active(i):
                self.write(vd, i, eew, element(i))
            elif self.inactive_ones:
                self.write(vd, i, eew, ALL_ONES)
        self.fill_tail(vd, eew, self.vl, self.elements_in_group(eew))

    def write_mask_body(self, vd: int, element: Callable[[int], int]) -> None:
        """The same for a mask destination: its tail is always agnostic and ends at VLEN."""
        if self.vstart >= self.vl:
            return
        for i in self.body():
            if self.is_active(i):
                self.write_bit(vd, i, element(i))
            elif self.inactive_ones:
                self.write_bit(vd, i, 1)
        if self.mask_tail_ones:
            for i in range(self.vl, self.state.vlen):
                self.write_bit(vd, i, 1)

    def write_scalar_element(self, vd: int, eew: int, value: int) -> None:
        """Element 0 of one register; all others are its tail (V 14, V 16.1)."""
        if self.vstart >= self.vl:
            return
        self.write(vd, 0, eew, value)
        self.fill_tail(vd, eew, 1, self.state.vlen // eew)

    def require_vstart_of_an_element(self) -> None:
        """V 3.7: a vstart greater than the largest element index of this vtype is reserved."""
        if self.state.reserved == "trap" and self.vstart > self.vlmax - 1:
            raise OracleTrap(ILLEGAL_INSTRUCTION)

    def require_zero_vstart(self) -> None:
        """Trap for an instruction that can't start in the middle (V 14, 15.2 to 15.8, 16.5)."""
        if self.vstart != 0:
            raise OracleTrap(ILLEGAL_INSTRUCTION)


def number(bits: int, width: int, sign: str) -> int:
    """Read an element as signed (`s`) or unsigned (`u`)."""
    return signed(bits, width) if sign == "s" else bits


VectorBody = Callable[[VectorInsn, Fields], None]


def vector_row(body: VectorBody, *, whole: bool = False) -> Callable[[OracleState, Fields], None]:
    """Run `body`; a vector instruction that doesn't trap leaves vstart zero (V 3.7).

    What moves `whole` registers has elements of its own, whatever vtype is (V 7.9, 16.6).
    """

    def row(state: OracleState, fields: Fields) -> None:
        insn = VectorInsn(state, fields)
        if not whole:
            insn.require_vstart_of_an_element()
        body(insn, fields)
        state.vstart = 0

    return row


def address(value: int) -> int:
    return value & M64
