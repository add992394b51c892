"""SpacemiT IME: int8 matrix multiply-accumulate on VLEN 256, e8, m1, vl 32.

A is M x K and row-major in vs1 (for slide s: rows s to s+3 of the pair vs1, vs1+1); B is N x K and
row-major in vs2, so its rows are the columns of the product; C is M x N and row-major in vd, vd+1.
"""

from tests.oracle.scalar import Fields, Row
from tests.oracle.vector_shape import VectorInsn, number, vector_row

M, N, K = 4, 4, 8

# Signs of A and B.
SIGNS = {"": "ss", "u": "uu", "us": "us", "su": "su"}


def vmadot_row(signs: str, slide: int) -> Row:
    def body(insn: VectorInsn, fields: Fields) -> None:
        vd, vs1, vs2 = fields["vd"], fields["vs1"], fields["vs2"]
        for i in range(M):
            for j in range(N):
                total = insn.read(vd, N * i + j, 32)
                for k in range(K):
                    a = number(insn.read(vs1, K * (i + slide) + k, 8), 8, signs[0])
                    b = number(insn.read(vs2, K * j + k, 8), 8, signs[1])
                    total += a * b
                insn.write(vd, N * i + j, 32, total)

    return vector_row(body)


ROWS: dict[str, Row] = {
    f"smt.vmadot{slide or ''}{suffix}": vmadot_row(signs, slide)
    for slide in range(4)
    for suffix, signs in SIGNS.items()
}
