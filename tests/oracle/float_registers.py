"""F 2, D 2: boxed f registers, the rounding mode of an instruction, accrued flags."""

from tests.oracle.float_exact import FORMATS, Binary, Outcome
from tests.oracle.scalar import Fields
from tests.oracle.state import ILLEGAL_INSTRUCTION, OracleState, OracleTrap

FLEN = 64
DYNAMIC = 7
GREATEST_MODE = 4

SUFFIX = {"h": FORMATS["f16"], "s": FORMATS["f32"], "d": FORMATS["f64"]}
WIDTH = {fmt.width: fmt for fmt in SUFFIX.values()}


def boxed(bits: int, width: int) -> int:
    """A narrower value as an f register holds it: ones above (D 2)."""
    return (1 << FLEN) - (1 << width) | bits


def unboxed(register: int, fmt: Binary) -> int:
    """The value of `fmt` in an f register; a badly boxed one is the canonical NaN (D 2)."""
    low = register & (1 << fmt.width) - 1
    return low if register == boxed(low, fmt.width) else fmt.nan


def read_f(state: OracleState, reg: int, fmt: Binary) -> int:
    return unboxed(state.f[reg], fmt)


def write_f(state: OracleState, fd: int, fmt: Binary, outcome: Outcome) -> None:
    """Write a result and accrue its flags."""
    bits, flags = outcome
    state.f[fd] = boxed(bits, fmt.width)
    state.fflags |= flags


def legal_mode(rm: int) -> int:
    """F 2: modes 5 and 6, and 7 in frm, are reserved."""
    if rm > GREATEST_MODE:
        raise OracleTrap(ILLEGAL_INSTRUCTION)
    return rm


def rounding_mode(state: OracleState, fields: Fields) -> int:
    """The mode of the rm field, or of frm; instructions that never round check it as well."""
    rm = fields["rm"]
    return legal_mode(state.frm if rm == DYNAMIC else rm)
