"""V 6: vsetvli, vsetivli, vsetvl."""

from fractions import Fraction

from tests.oracle.bits import M64
from tests.oracle.scalar import Fields, Row
from tests.oracle.state import OracleState
from tests.oracle.vector_shape import lmul_of, sew_of

ELEN = 64
VILL = 1 << 63


def vlmax_of(vtype: int, vlen: int) -> int:
    return int(lmul_of(vtype) * vlen / sew_of(vtype))


def is_supported(vtype: int) -> bool:
    """V 3.4: SEW up to ELEN; with a fractional LMUL up to LMUL * ELEN; no reserved bit set."""
    reserved_lmul = vtype & 7 == 4
    if vtype >> 8 or reserved_lmul:
        return False
    return sew_of(vtype) <= min(Fraction(ELEN), lmul_of(vtype) * ELEN)


def vl_for(avl: int, vlmax: int, policy: str) -> int:
    """V 6.3: between VLMAX and twice VLMAX an implementation may split the work evenly."""
    if policy == "half" and vlmax < avl < 2 * vlmax:
        return (avl + 1) // 2
    return min(avl, vlmax)


def configure(state: OracleState, rd: int, vtype: int, avl: int | None) -> None:
    """Set vtype and vl; `avl` None keeps vl, which needs an unchanged VLMAX (V 6.2)."""
    legal = is_supported(vtype)
    if legal and avl is None:
        was_vill = bool(state.vtype & VILL)
        legal = not was_vill and (vlmax_of(vtype, state.vlen) == vlmax_of(state.vtype, state.vlen))
    if not legal:
        state.vtype, state.vl = VILL, 0
    else:
        state.vtype = vtype
        if avl is not None:
            state.vl = vl_for(avl, vlmax_of(vtype, state.vlen), state.vl_policy)
    state.set_x(rd, state.vl)
    state.vstart = 0


def avl_from_register(state: OracleState, fields: Fields) -> int | None:
    """V 6.2: x0 as rs1 asks for VLMAX, or, with x0 as rd too, for the present vl."""
    if fields["rs1"] != 0:
        return state.x[fields["rs1"]]
    return M64 if fields["rd"] != 0 else None


def vsetvli(state: OracleState, fields: Fields) -> None:
    configure(state, fields["rd"], fields["vtypei"], avl_from_register(state, fields))


def vsetivli(state: OracleState, fields: Fields) -> None:
    configure(state, fields["rd"], fields["vtypei"], fields["uimm"])


def vsetvl(state: OracleState, fields: Fields) -> None:
    vtype = state.x[fields["rs2"]]
    configure(state, fields["rd"], vtype, avl_from_register(state, fields))


ROWS: dict[str, Row] = {"vsetvli": vsetvli, "vsetivli": vsetivli, "vsetvl": vsetvl}
