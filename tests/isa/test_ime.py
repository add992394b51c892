"""SpacemiT IME: reference words, every illegal use with its reason, values and layout.

`isa/ime-ledger.md` says which reading of the documents each test holds.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from rvsim.config import Config
from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.strips.analysis import is_wide
from rvsim.hart.memory import PAGE, Memory, R, X
from rvsim.hart.state import State
from rvsim.hart.traps import Cause, Trap
from rvsim.insn.decode import decode
from rvsim.insn.disasm import disassemble
from rvsim.insn.isa import isa
from rvsim.profiles import make_config
from rvsim.vec.vtype import VILL, VType

CODE = 0x10000
X60 = make_config("spacemit-x60")
SIGNS = {"": (True, True), "u": (False, False), "us": (False, True), "su": (True, False)}
"""Suffix: whether A, from vs1, and B, from vs2, are signed."""

ACC, A, B = 28, 2, 8
"""Registers of C (and the next), A (for slides and the next) and B."""


@dataclass(slots=True)
class Run:
    """One instruction under a vector state; `v` gives the first bytes of registers."""

    word: int
    v: dict[int, bytes] = field(default_factory=dict)
    vtype: str = "e8,m1"
    vl: int = 32
    vstart: int = 0
    config: Config = X60

    def execute(self) -> tuple[Trap | None, State, bytes]:
        """(trap, state, the state's bytes before)."""
        memory, state = Memory(1 << 20), State(self.config.vlen)
        memory.map(CODE, PAGE, R | X)
        memory.write(CODE, self.word.to_bytes(4, "little"))
        state.vfile[:] = memoryview(random.Random(self.word).randbytes(state.vfile.size))
        for reg, octets in self.v.items():
            state.v[reg][: len(octets)] = memoryview(octets)
        state["pc"] = CODE
        state["vtype"] = VILL if self.vtype == "vill" else VType.parse(self.vtype).encode()
        state["vl"], state["vstart"] = self.vl, self.vstart
        before = state.snapshot()
        trap, _ = Interpreter(self.config, state, memory).run(1)
        return trap, state, before

    def result(self) -> list[int]:
        """The 16 elements of C."""
        trap, state, _ = self.execute()
        assert trap is None, trap
        return state.v[ACC : ACC + 2].reshape(-1).view("<u4").tolist()

    def refusal(self) -> str:
        """Why it is an illegal instruction; nothing at all may have changed."""
        trap, state, before = self.execute()
        assert trap is not None
        assert (trap.cause, trap.pc) == (Cause.ILLEGAL_INSTRUCTION, CODE)
        assert state.snapshot() == before
        return trap.why


def word(name: str, vd: int = ACC, vs1: int = A, vs2: int = B) -> int:
    return isa().by_name[name].encoding.encode({"vd": vd, "vs1": vs1, "vs2": vs2})


def words32(values: list[int]) -> bytes:
    return b"".join((value % 2**32).to_bytes(4, "little") for value in values)


def accumulator(octets: bytes) -> dict[int, bytes]:
    """C, 64 bytes, as the two registers it lies in."""
    return {ACC: octets[:32], ACC + 1: octets[32:]}


ZERO = accumulator(bytes(64))

# -- encodings


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (0xE2103E2B, "smt.vmadot v28, v0, v1"),
        (0xE2100E2B, "smt.vmadotu v28, v0, v1"),
        (0xE2101E2B, "smt.vmadotus v28, v0, v1"),
        (0xE2102E2B, "smt.vmadotsu v28, v0, v1"),
        (0xE6103E2B, "smt.vmadot1 v28, v0, v1"),
        (0xE6100E2B, "smt.vmadot1u v28, v0, v1"),
        (0xE6101E2B, "smt.vmadot1us v28, v0, v1"),
        (0xE6102E2B, "smt.vmadot1su v28, v0, v1"),
        (0xE6107E2B, "smt.vmadot2 v28, v0, v1"),
        (0xE6104E2B, "smt.vmadot2u v28, v0, v1"),
        (0xE6105E2B, "smt.vmadot2us v28, v0, v1"),
        (0xE6106E2B, "smt.vmadot2su v28, v0, v1"),
        (0xE610BE2B, "smt.vmadot3 v28, v0, v1"),
        (0xE6108E2B, "smt.vmadot3u v28, v0, v1"),
        (0xE6109E2B, "smt.vmadot3us v28, v0, v1"),
        (0xE610AE2B, "smt.vmadot3su v28, v0, v1"),
        # LLVM, test/MC/RISCV/xsmtvdot-valid.s
        (0xE280382B, "smt.vmadot v16, v0, v8"),
        (0xE290892B, "smt.vmadotu v18, v1, v9"),
        (0xE2A12A2B, "smt.vmadotsu v20, v2, v10"),
        (0xE2B19B2B, "smt.vmadotus v22, v3, v11"),
        (0xE6C83C2B, "smt.vmadot1 v24, v16, v12"),
        (0xE64C702B, "smt.vmadot2 v0, v24, v4"),
        (0xE680B12B, "smt.vmadot3 v2, v0, v8"),
        # `.word`s of public kernels
        (0xE2203F2B, "smt.vmadot v30, v0, v2"),
        (0xE210112B, "smt.vmadotus v2, v0, v1"),
        (0xE620322B, "smt.vmadot1 v4, v0, v2"),
    ],
)
def test_reference_words(word: int, text: str) -> None:
    assert disassemble(decode(word, 4)) == text


@pytest.mark.parametrize(
    ("word", "what"),
    [
        (0xE2103EAB, "odd vd"),
        (0xE610FE2B, "slide field 3"),
        (0xE2107E2B, "bit 14 of the form without a slide"),
        (0xE0103E2B, "funct7 0x70"),
        (0xE8100E2B, "funct7 0x74"),
    ],
)
def test_words_that_are_no_instruction(word: int, what: str) -> None:
    assert decode(word, 4).insn is None, what
    assert Run(word).refusal() == f"no instruction has the encoding {word:#x}"


# -- what is refused, and why

INT4 = "int4 matrix forms are not implemented by the K1's X60"
FLOATS = "floating-point matrix forms (vfmadot) are not implemented by the K1's X60"
SLIDE_BY_T0 = "a slide taken from t0 (vmadotn) is not implemented by the K1's X60"


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (Run(word("smt.vmadot"), config=make_config(vlen=128), vl=16), "VLEN 256, not 128"),
        (Run(word("smt.vmadot"), config=make_config(vlen=512)), "VLEN 256, not 512"),
        (Run(word("smt.vmadot"), config=make_config(vlen=1024)), "VLEN 256, not 1024"),
        (Run(word("smt.vmadot"), vtype="e16,m1", vl=16), "16-bit vmadot is not usable"),
        (Run(word("smt.vmadot"), vtype="e8,m2"), "needs vtype e8,m1, not e8,m2"),
        (Run(word("smt.vmadot"), vtype="e8,mf2", vl=16), "needs vtype e8,m1, not e8,mf2"),
        (Run(word("smt.vmadot"), vtype="e32,m1", vl=8), "needs vtype e8,m1, not e32,m1"),
        (Run(word("smt.vmadot"), vtype="vill", vl=0), "vtype is vill"),
        (Run(word("smt.vmadot"), vl=0), "vmadot needs vl = 32"),
        (Run(word("smt.vmadot"), vl=16), "vmadot needs vl = 32"),
        (Run(word("smt.vmadot"), vl=31), "vmadot needs vl = 32"),
        (Run(word("smt.vmadot"), vstart=1), "vmadot needs vstart = 0"),
        (Run(word("smt.vmadot2"), vl=31), "vmadot needs vl = 32"),
        (Run(word("smt.vmadot2"), vstart=31), "vmadot needs vstart = 0"),
        (Run(word("smt.vmadot", 4, 4, 8)), "overlaps source vs1 = v4"),
        (Run(word("smt.vmadot", 4, 5, 8)), "overlaps source vs1 = v5"),
        (Run(word("smt.vmadot", 4, 8, 4)), "overlaps source vs2 = v4"),
        (Run(word("smt.vmadot", 4, 8, 5)), "overlaps source vs2 = v5"),
        (Run(word("smt.vmadot1", 4, 4, 8)), "overlaps source vs1 = v4-v5"),
        (Run(word("smt.vmadot1", 4, 8, 4)), "overlaps source vs2 = v4"),
        (Run(word("smt.vmadot3", 4, 8, 5)), "overlaps source vs2 = v5"),
        (Run(word("smt.vmadot"), config=make_config(isa="rv64gcv", vlen=256)), "needs xsmtvdot"),
        (Run(0xE4103E2B), SLIDE_BY_T0),
        (Run(0xC2103E2B), INT4),
        (Run(0xEA100E2B), FLOATS),
        (Run(0xEC100E2B), FLOATS),
        (Run(0xEE100E2B), FLOATS),
        (Run(0xEE101E2B), FLOATS),
        (Run(0xEE102E2B), FLOATS),
    ],
    ids=lambda value: disassemble(decode(value.word, 4)) if isinstance(value, Run) else value,
)
def test_illegal_uses_trap_with_their_reason_and_compute_nothing(run: Run, why: str) -> None:
    assert why in run.refusal()


def test_nothing_illegal_is_allowed_by_the_reserved_policy() -> None:
    """Hardware does not document what these do, so that there is nothing to carry on with."""
    allow = make_config(reserved="allow")
    assert "overlaps" in Run(word("smt.vmadot", 4, 4, 8), config=allow).refusal()
    assert "vl = 32" in Run(word("smt.vmadot"), vl=16, config=allow).refusal()


# -- what is computed


@pytest.mark.parametrize(
    ("suffix", "value"), [("", 1024), ("u", 261120), ("su", -261120), ("us", -1024)]
)
def test_signs(suffix: str, value: int) -> None:
    """A all 0x80, B all 0xff."""
    v = {A: b"\x80" * 32, B: b"\xff" * 32, **ZERO}
    assert Run(word(f"smt.vmadot{suffix}"), v).result() == [value % 2**32] * 16


def test_layout() -> None:
    """A[m][0] = m + 1 and B[n][0] = n + 1 give C[m][n] = (m + 1)(n + 1), row by row."""
    rows = b"".join(bytes([i + 1]) + bytes(7) for i in range(4))
    expected = [(m + 1) * (n + 1) for m in range(4) for n in range(4)]
    assert Run(word("smt.vmadot"), {A: rows, B: rows, **ZERO}).result() == expected


def reference(a: bytes, b: bytes, c: list[int], slide: int, suffix: str) -> list[int]:
    """The product in plain loops; `a` is the pair of registers."""
    a_signed, b_signed = SIGNS[suffix]

    def element(octet: int, signed: bool) -> int:
        return octet - 256 if signed and octet >= 128 else octet

    result = list(c)
    for i in range(4):
        for j in range(4):
            for k in range(8):
                left = element(a[8 * (i + slide) + k], a_signed)
                right = element(b[8 * j + k], b_signed)
                result[4 * i + j] += left * right
    return [value % 2**32 for value in result]


@pytest.mark.parametrize("suffix", SIGNS)
@pytest.mark.parametrize("slide", range(4))
def test_products_equal_a_loop(slide: int, suffix: str) -> None:
    rng = random.Random(f"{slide}{suffix}")
    for _ in range(5):
        a, b = rng.randbytes(64), rng.randbytes(32)
        c = [rng.getrandbits(32) for _ in range(16)]
        v = {A: a[:32], A + 1: a[32:], B: b, **accumulator(words32(c))}
        insn = word(f"smt.vmadot{slide or ''}{suffix}")
        assert Run(insn, v).result() == reference(a, b, c, slide, suffix)


@pytest.mark.parametrize(
    ("suffix", "a", "b", "c", "expected"),
    [
        ("", 127, 127, 0x7FFFFFFF, 0x7FFFFFFF + 8 * 127 * 127),  # past the signed maximum
        ("", 0x80, 127, 0x80000000, 0x80000000 - 8 * 128 * 127),  # past the signed minimum
        ("u", 255, 255, 0xFFFFFFFF, 0xFFFFFFFF + 8 * 255 * 255),
        ("su", 0x80, 255, 0, -8 * 128 * 255),
    ],
)
def test_accumulation_wraps(suffix: str, a: int, b: int, c: int, expected: int) -> None:
    v = {A: bytes([a]) * 32, B: bytes([b]) * 32, **accumulator(words32([c] * 16))}
    assert Run(word(f"smt.vmadot{suffix}"), v).result() == [expected % 2**32] * 16


@pytest.mark.parametrize("name", ["smt.vmadot", "smt.vmadot3us"])
@pytest.mark.parametrize("agnostic", ["undisturbed", "ones", "random:1"])
def test_only_the_accumulator_changes(name: str, agnostic: str) -> None:
    run = Run(word(name), vtype="e8,m1,ta,ma", config=make_config(agnostic=agnostic))
    trap, state, before = run.execute()
    assert trap is None
    untouched = State(run.config.vlen)
    untouched.buffer[:] = memoryview(before)
    untouched["pc"], untouched["instret"] = CODE + 4, 1
    untouched.v[ACC : ACC + 2] = state.v[ACC : ACC + 2]
    assert state.snapshot() == untouched.snapshot()


def test_one_register_may_be_both_sources() -> None:
    octets = random.Random(0).randbytes(32)
    v = {A: octets, **ZERO}
    expected = reference(octets + bytes(32), octets, [0] * 16, 0, "")
    assert Run(word("smt.vmadot", vs2=A), v).result() == expected


@pytest.mark.parametrize("name", [f"smt.vmadot{s}{suffix}" for s in ("", "1") for suffix in SIGNS])
def test_the_jit_keeps_products_in_host_vectors(name: str) -> None:
    """Lowered by strips, a product takes thirty times as long."""
    interp = Interpreter(X60, State(256), Memory(PAGE))
    insn = isa().by_name[name]
    vtype = VType.parse("e8,m1").encode()
    interp.state["vtype"], interp.state["vl"] = vtype, 32
    fields = {"vd": ACC, "vs1": A, "vs2": B}
    program = interp.binder.program(insn, fields, Mode.of(interp.state))
    assert not is_wide(program)
