"""V 14.3, 14.4: floating-point reductions, one element after the other."""

from collections.abc import Callable

from tests.oracle import float_exact as exact
from tests.oracle.float_exact import Binary, Outcome
from tests.oracle.scalar import Fields, Row
from tests.oracle.vector_float_shape import FloatInsn, float_format, float_row

Step = Callable[[Binary, int, int, int], Outcome]

SINGLE: dict[str, Step] = {
    "vfredosum": exact.add,
    "vfredusum": exact.add,
    "vfredmin": lambda fmt, total, a, rm: exact.minimum(fmt, total, a),
    "vfredmax": lambda fmt, total, a, rm: exact.minimum(fmt, total, a, greatest=True),
}
WIDENING: dict[str, Step] = {"vfwredosum": exact.add, "vfwredusum": exact.add}


def reduction_row(step: Step, scale: int = 1) -> Row:
    """Start with vs1[0], which stays as it is, NaN or not, if no element is active (V 14.3.1).

    An unordered sum may canonicalise it then (V 14.3.2); this one is an ordered sum.
    """

    def body(insn: FloatInsn, fields: Fields) -> None:
        insn.require_zero_vstart()
        narrow, wide = float_format(insn.sew), float_format(scale * insn.sew)
        total = insn.read(fields["vs1"], 0, wide.width)
        for i in insn.body():
            if insn.is_active(i):
                a = insn.convert(insn.read(fields["vs2"], i, narrow.width), narrow, wide)
                total = insn.accrue(step(wide, total, a, insn.rm))
        insn.write_scalar_element(fields["vd"], wide.width, total)

    return float_row(body)


ROWS: dict[str, Row] = {f"{name}.vs": reduction_row(step) for name, step in SINGLE.items()}
ROWS |= {f"{name}.vs": reduction_row(step, scale=2) for name, step in WIDENING.items()}
