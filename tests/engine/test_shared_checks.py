"""Which scalar accesses of a block one check covers."""

from __future__ import annotations

from rvsim.engine.block import Mode
from rvsim.engine.jit.discover import Step, compilable
from rvsim.engine.jit.shared_checks import COVERED, checks
from rvsim.vec.vtype import VType
from tests.program.bare import TEXT, Bare, assemble
from tests.program.bare import step as insn
from tests.program.test_jit import CONFIG, E8M1


def steps(*code: object) -> list[Step]:
    bare = Bare(assemble(list(code)), CONFIG)  # type: ignore[arg-type]
    mode = Mode(VType.decode(E8M1), "full")
    found, pc = [], TEXT
    for _ in code:
        step = compilable(bare.interp, pc, mode)
        assert step is not None
        found.append(step)
        pc += step.decoded.length
    return found


def load(offset: int, base: int = 9, rd: int = 6) -> object:
    return insn("lw", rd=rd, rs1=base, imm=offset)


def test_the_first_access_checks_the_bytes_of_all() -> None:
    assert checks(steps(load(8), load(-4), load(20))) == {0: (-12, 28), 1: COVERED, 2: COVERED}


def test_loads_and_stores_are_checked_apart() -> None:
    store = insn("sb", rs1=9, rs2=7, imm=1)
    assert checks(steps(load(0), store, load(4))) == {0: (0, 8), 1: (0, 1), 2: COVERED}


def test_a_written_base_is_another_address() -> None:
    moved = insn("addi", rd=9, rs1=9, imm=4)
    assert checks(steps(load(0), moved, load(0))) == {0: (0, 4), 2: (0, 4)}
    assert checks(steps(load(0, rd=9), load(0))) == {0: (0, 4), 1: (0, 4)}


def test_a_span_reaches_over_two_pages_at_most() -> None:
    assert checks(steps(load(-2048), load(2044), load(2047))) == {
        0: (0, 4096),
        1: COVERED,
        2: (0, 4),
    }


def test_accesses_that_are_not_base_and_offset_check_themselves() -> None:
    amo = insn("amoadd.w", rd=6, rs1=9, rs2=7, aq=0, rl=0)
    assert checks(steps(load(0), amo, insn("vle8.v", vm=1, rs1=9, vd=8))) == {0: (0, 4)}


def test_a_guarded_access_checks_itself_and_no_other() -> None:
    """The store of sc.w is made, and so checked, only where there is a reservation."""
    sc = insn("sc.w", rd=6, rs1=9, rs2=7, aq=0, rl=0)
    store = insn("sw", rs1=9, rs2=7, imm=4)
    assert checks(steps(sc, store)) == {1: (0, 4)}
    assert checks(steps(store, sc, store)) == {0: (0, 4), 2: COVERED}
    lr = insn("lr.w", rd=6, rs1=9, aq=0, rl=0)
    assert checks(steps(lr, load(4))) == {0: (0, 8), 1: COVERED}
