"""V 14: integer reductions to element 0."""

from collections.abc import Callable

from tests.oracle.scalar import Fields, Row
from tests.oracle.vector_shape import VectorInsn, number, vector_row

Step = Callable[[int, int], int]

SINGLE: dict[str, tuple[str, Step]] = {
    "vredsum": ("u", lambda total, a: total + a),
    "vredand": ("u", lambda total, a: total & a),
    "vredor": ("u", lambda total, a: total | a),
    "vredxor": ("u", lambda total, a: total ^ a),
    "vredminu": ("u", min),
    "vredmin": ("s", min),
    "vredmaxu": ("u", max),
    "vredmax": ("s", max),
}

# V 14.2: vs2 elements are extended, the scalar and the result are 2*SEW wide.
WIDENING = {"vwredsumu": "u", "vwredsum": "s"}


def reduction_row(sign: str, step: Step, scale: int = 1) -> Row:
    def body(insn: VectorInsn, fields: Fields) -> None:
        insn.require_zero_vstart()
        sew, wide = insn.sew, scale * insn.sew
        total = number(insn.read(fields["vs1"], 0, wide), wide, sign)
        for i in insn.body():
            if insn.is_active(i):
                total = step(total, number(insn.read(fields["vs2"], i, sew), sew, sign))
        insn.write_scalar_element(fields["vd"], wide, total)

    return vector_row(body)


ROWS: dict[str, Row] = {
    f"{name}.vs": reduction_row(sign, step) for name, (sign, step) in SINGLE.items()
}
ROWS |= {
    f"{name}.vs": reduction_row(sign, lambda total, a: total + a, scale=2)
    for name, sign in WIDENING.items()
}
