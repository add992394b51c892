"""Cost programs as LLVM sees them: the same CostState after each instruction, to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from rvsim.cost import CostModel
from rvsim.hart.state import State
from rvsim.insn.registry import Context
from rvsim.ir import Program
from rvsim.ir.llvm.backend import ModuleBuilder
from rvsim.ir.llvm.engine import compile_module
from rvsim.machine import Machine
from rvsim.toolchain import build_kernel
from tests.cost.loops import assemble

pytestmark = pytest.mark.compiled

CHECKED_SITES = 1 << 16
EVERY = 7
"""Each program is looked at when it runs for the first time, and some of the times after."""


@dataclass
class Seen:
    """A cost program at work: the state before it and after."""

    name: str
    program: Program
    fields: dict[str, int]
    before: bytes
    after: bytes


def contents(state: State) -> bytes:
    """Everything that a cost program may read or change, as one string of bytes."""
    sites = bytes(state.arrays["sites"][:CHECKED_SITES])
    others = b"".join(bytes(a) for name, a in state.arrays.items() if name != "sites")
    return state.snapshot() + others + sites


def put_contents(state: State, content: bytes) -> None:
    rest = memoryview(content)
    architectural = len(state.snapshot())
    state.buffer[:architectural] = rest[:architectural]
    rest = rest[architectural:]
    for name, array in state.arrays.items():
        if name != "sites":
            array.cast("B")[:] = rest[: 8 * len(array)]
            rest = rest[8 * len(array) :]
    state.arrays["sites"][:CHECKED_SITES].cast("B")[:] = rest


def observe(machine: Machine, max_insns: int) -> list[Seen]:
    """Run, and keep what cost programs did."""
    cost = machine.cost
    assert cost is not None
    seen: list[Seen] = []
    counts: dict[int, int] = {}
    bind = cost.bind

    def watched(
        context: Context, fields: Mapping[str, int], pc: int, semantics: Program, names: Any
    ) -> Callable[[], None] | None:
        call = bind(context, fields, pc, semantics, names)
        program = cost.program(context, semantics)
        assert call is not None
        assert program is not None
        known = {p: cost.fields(context, fields, pc)[p] for p in program.params()}

        def account() -> None:
            count = counts[id(program)] = counts.get(id(program), 0) + 1
            if count % EVERY != 1 or count > 5 * EVERY:
                call()
                return
            before = contents(machine.state)
            call()
            seen.append(Seen(context.insn.name, program, known, before, contents(machine.state)))

        return account

    cost.bind = watched  # type: ignore[method-assign]
    machine.run(max_insns=max_insns)
    return seen


def check(seen: list[Seen], machine: Machine) -> None:
    assert machine.cost is not None
    state = CostModel(machine.cost.core).make_state(machine.config.vlen)
    builder = ModuleBuilder(machine.config.vlen, state.array_offsets)
    for n, one in enumerate(seen):
        builder.add(one.program, f"f{n}", fields=one.fields)
    compiled = compile_module(builder.module)
    for n, one in enumerate(seen):
        put_contents(state, one.before)
        compiled.function(f"f{n}")(state, machine.memory)
        assert contents(state) == one.after, one.name


ALL_SORTS = """
    .globl main
main: la s1, data; li s0, 40
1:  vsetvli t0, zero, e8, m4, ta, ma; vle8.v v8, (s1); vadd.vv v12, v8, v8, v0.t
    vmseq.vv v0, v8, v12; vcpop.m t1, v0; vse8.v v12, (s1); vlse8.v v4, (s1), t1
    vsetivli t0, 3, e32, m2, ta, ma; vluxei32.v v16, (s1), v20; vlseg2e32.v v8, (s1)
    vfdiv.vv v24, v8, v12; vdiv.vv v26, v8, v12; vredsum.vs v4, v8, v8; vmv.x.s t2, v4
    vsetvli t0, zero, e8, m1, ta, ma; smt.vmadot v2, v4, v5; vlm.v v0, (s1); vs2r.v v8, (s1)
    mul t3, t1, t2; divu t3, t3, t0; ld t4, 0(s1); sd t3, 8(s1); fld ft0, 0(s1)
    fadd.d ft1, ft0, ft0; fsd ft1, 16(s1); addi s1, s1, 1600; csrr t5, vl; andi t6, s0, 3
    bnez t6, 2f; la t1, 2f; jr t1
2:  addi s0, s0, -1; bnez s0, 1b; ebreak
    .data; .balign 4096
data: .zero 131072
"""


def test_all_sorts_of_instructions() -> None:
    machine = Machine(cost="x60", engine="numpy")
    machine.load(assemble(ALL_SORTS))
    seen = observe(machine, 5_000)
    assert len({s.name for s in seen}) > 35
    check(seen, machine)


@pytest.mark.parametrize("kernel", ["gemm_tile_ime", "softmax_f16"])
def test_kernels(kernel: str) -> None:
    machine = Machine(cost="x60", engine="numpy")
    machine.load(build_kernel(kernel))
    check(observe(machine, 20_000), machine)
