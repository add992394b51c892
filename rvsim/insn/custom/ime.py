"""SpacemiT IME (Xsmtvdot): the int8 matrix forms `smt.vmadot*`, at VLEN 256.

``C[i][j] += sum over k of A[i][k] * B[j][k]`` with M = N = 4, K = 8: A is vs1 (for a slide by s,
rows s … s+3 of the pair vs1:vs1+1), B is vs2 with one row per column of the product, C the 32-bit
elements of the pair vd:vd+1, row by row.  `isa/ime-ledger.md` lists each unclear point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rvsim import ir
from rvsim.hart.traps import Cause
from rvsim.insn.encoding import Encoding
from rvsim.insn.registry import Context, Insn, define
from rvsim.insn.units import Unit
from rvsim.ir import Value
from rvsim.vec.groups import Eew, VReg
from rvsim.vec.rules import EncodedUse, Violation

M, N, K = 4, 4, 8
VLEN, SEW = 256, 8
"""The one shape that the X60 documents and kernels use."""
SPEC = "IME 5"

_PAIR = Eew("whole", 2)
_ONE = Eew("whole", 1)


def _profile_rule(s: EncodedUse) -> Iterator[Violation]:
    """VLEN 256, e8, m1."""
    if s.config.vlen != VLEN:
        yield Violation(f"vmadot is defined for VLEN {VLEN}, not {s.config.vlen}", SPEC)
    if (s.vtype.sew, s.vtype.lmul_log2) == (16, 0):
        yield Violation("the 16-bit vmadot is not usable on the X60: only e8 is", SPEC)
    elif (s.vtype.sew, s.vtype.lmul_log2) != (8, 0):
        yield Violation(f"vmadot needs vtype e8,m1, not {s.vtype}", SPEC)


def _overlap_rule(s: EncodedUse) -> Iterator[Violation]:
    """vd:vd+1 may not overlap vs1 or vs2."""
    dest = s.groups["vd"]
    for field in ("vs1", "vs2"):
        if dest.overlaps(s.groups[field]):
            source = s.groups[field]
            yield Violation(f"destination {dest.text()} overlaps source {source.text()}", SPEC)


def _pairs(octets: Value, sign: str, picked: list[int]) -> Value:
    """Pairs of elements along K, picked by number, as 32-bit lanes."""
    halves = (ir.sext if sign == "s" else ir.zext)(octets, 16)
    pairs = ir.shuffle(ir.bitcast(halves, ir.lanes(M * K // 2, 32)), picked)
    return ir.sext(ir.bitcast(pairs, ir.lanes(2 * len(picked), 16)), 32)


def _vmadot(signs: str, slide: int) -> Callable[[Context], None]:
    def run(ctx: Context) -> None:
        if ctx.elements == "vstart":
            with ir.when(ir.read("vstart") != 0):
                ir.trap(Cause.ILLEGAL_INSTRUCTION, f"vmadot needs vstart = 0 ({SPEC})")
        if ctx.elements != "full":
            with ir.when(ir.read("vl") != M * K):
                ir.trap(Cause.ILLEGAL_INSTRUCTION, f"vmadot needs vl = {M * K} ({SPEC})")
        rows = ir.read_v("vs1", 2 * M * K if slide else M * K, 8)
        a = ir.shuffle(rows, range(slide * K, slide * K + M * K))
        b = ir.read_v("vs2", N * K, 8)
        # Lane (p, i, j) is pair p along K of both factors: hosts multiply and add pairs at once.
        # Half of the pairs at a time are no more than a register group.
        total = ir.read_v("vd", M * N, 32)
        for pairs in (range(K // 4), range(K // 4, K // 2)):
            lanes = [(p, i, j) for p in pairs for i in range(M) for j in range(N)]
            left = _pairs(a, signs[0], [i * K // 2 + p for p, i, _ in lanes])
            right = _pairs(b, signs[1], [j * K // 2 + p for p, _, j in lanes])
            sums = ir.group_sum(left * right, 2)
            total += ir.head(sums, M * N) + ir.shuffle(sums, range(M * N, 2 * M * N))
        ir.write_v("vd", total)

    return run


def _define(
    name: str,
    pattern: str,
    semantics: Callable[[Context], None],
    vregs: tuple[VReg, ...],
    doc: str,
    unsupported: str | None = None,
) -> None:
    define(
        Insn(
            name=name,
            encoding=Encoding.parse(pattern),
            syntax="vd, vs1, vs2",
            extensions=("xsmtvdot",),
            unit=Unit.VMADOT,
            spec=SPEC,
            semantics=semantics,
            doc=doc,
            vregs=vregs,
            rules=(_profile_rule, _overlap_rule),
            vector=True,
            unsupported=unsupported,
        )
    )


_SIGNS = (("", "11", "ss"), ("u", "00", "uu"), ("us", "01", "us"), ("su", "10", "su"))
_WORDS = {"s": "signed", "u": "unsigned"}


def _define_all() -> None:
    dest = VReg("vd", _PAIR, dest=True)
    b = VReg("vs2", _ONE)
    for suffix, sign_code, signs in _SIGNS:
        kinds = f"{_WORDS[signs[0]]} A times {_WORDS[signs[1]]} B"
        _define(
            f"smt.vmadot{suffix}",
            f"1110001 vs2 vs1 0 {sign_code} vd[4:1] 0 0101011",
            _vmadot(signs, 0),
            (dest, VReg("vs1", _ONE), b),
            f"4x4 += 4x8 by 8x4 of int8, {kinds}.",
        )
        for slide in (1, 2, 3):
            _define(
                f"smt.vmadot{slide}{suffix}",
                f"1110011 vs2 vs1[4:1] {slide - 1:02b} {sign_code} vd[4:1] 0 0101011",
                _vmadot(signs, slide),
                (dest, VReg("vs1", _PAIR), b),
                f"As smt.vmadot{suffix} with A {slide} rows further on in vs1:vs1+1.",
            )


def _refused(ctx: Context) -> None:
    ir.trap(Cause.ILLEGAL_INSTRUCTION, ctx.insn.unsupported or "")


def _define_missing() -> None:
    """Forms of the IME specification that the K1 raises illegal instruction for."""
    dest, vs1, vs2 = VReg("vd", _PAIR, dest=True), VReg("vs1", _ONE), VReg("vs2", _ONE)
    slide_in_t0 = "a slide taken from t0 (vmadotn) is not implemented by the K1's X60"
    for suffix, sign_code, _ in _SIGNS:
        _define(f"smt.vmadotn{suffix}", f"1110010 vs2 vs1 0 {sign_code} vd[4:1] 0 0101011",
                _refused, (dest, vs1, vs2), "Slide by t0.", slide_in_t0)  # fmt: skip
        int4 = "int4 matrix forms are not implemented by the K1's X60, only by the A100 cores"
        _define(f"smt.vmadot{suffix}.i4", f"1100001 vs2 vs1 0 {sign_code} vd[4:1] 0 0101011",
                _refused, (dest, vs1, vs2), "4-bit elements.", int4)  # fmt: skip
    floats = "floating-point matrix forms (vfmadot) are not implemented by the K1's X60"
    for name, funct7, selector in (
        ("smt.vfmadot", "1110101", "0 00"),
        ("smt.vfmadotn", "1110110", "0 00"),
        ("smt.vfmadot1", "1110111", "0 00"),
        ("smt.vfmadot2", "1110111", "0 01"),
        ("smt.vfmadot3", "1110111", "0 10"),
    ):
        _define(name, f"{funct7} vs2 vs1 {selector} vd[4:1] 0 0101011", _refused,
                (dest, vs1, vs2), "Floating-point product.", floats)  # fmt: skip


_define_all()
_define_missing()
