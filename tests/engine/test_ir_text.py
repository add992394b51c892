"""Formulas: what people read of a program."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rvsim import ir
from rvsim.ir.text import formula

from .ir_harness import traced

X1, X2 = (lambda: ir.read_x("rs1")), (lambda: ir.read_x("rs2"))
V1, V2 = (lambda: ir.read_v("vs1", 8, 32)), (lambda: ir.read_v("vs2", 8, 32))


def demo() -> dict[str, ir.Value]:
    return ir.call("demo", lambda a, b: {"sum": a + b, "product": a * b}, X1(), X2())


def x(build: Callable[[], ir.Value]) -> Callable[[], None]:
    return lambda: ir.write_x("rd", build())


def v(build: Callable[[], ir.Value]) -> Callable[[], None]:
    return lambda: ir.write_v("vd", build())


def amo() -> None:
    old = ir.load(X1(), 32)
    ir.store(X1(), old + ir.trunc(X2(), 32))
    ir.write_x("rd", ir.sext(old, 64))


def amoswap() -> None:
    old = ir.load(X1(), 64)
    ir.store(X1(), X2())
    ir.write_x("rd", old)


def jalr() -> None:
    target = (X1() + ir.param("imm")) & -2
    ir.write_x("rd", ir.param("pc") + 4)
    ir.write("pc", target)


def branch() -> None:
    with ir.when(ir.lt_s(X1(), X2())):
        ir.write("pc", ir.param("pc") + ir.param("imm"))


def vector_load() -> None:
    vl = ir.splat(ir.trunc(ir.min_u(ir.read("vl"), 8), 16), 8)
    active = ir.lt_u(ir.iota(8, 16), vl)
    data, fault = ir.load_lanes(X1(), active, 32)
    with ir.when(fault != 8):
        ir.write("vstart", fault)
        ir.trap(13, "load page fault", X1() + fault * 4)
    ir.write_v("vd", ir.where(active, data, ir.read_v("vd", 8, 32)))


def gather() -> None:
    data, _ = ir.load_lanes(X1() + ir.zext(V2(), 64), ir.const(1, ir.mask(8)), 8)
    ir.write_v("vd", data)


def scatter() -> None:
    ir.store_lanes(X1(), ir.read_v("vs3", 8, 32), ir.read_mask(0, 8))


def scatter_fault() -> None:
    fault = ir.store_lanes(X1(), ir.read_v("vs3", 8, 32), ir.const(1, ir.mask(8)))
    ir.write("vstart", fault)


def loop() -> None:
    total = ir.for_(
        64,
        [ir.const(0, 64)],
        lambda i, c: (c ^ ir.where(ir.trunc(ir.shr_u(X2(), i), 1), X1() << i, 0),),
    )
    ir.write_x("rd", total[0])


def loop_until() -> None:
    _, n = ir.for_(
        64, [X1(), ir.const(0, 64)], lambda i, a, n: (ir.shr_u(a, 1), n + 1), lambda a, n: a == 0
    )
    ir.write_x("rd", n)


def long_twice() -> None:
    big = (X1() + X2()) * (X1() - X2())
    ir.write_x("rd", big + ir.shr_u(big, 1))


FORMULAS = {
    "x[rd] = x[rs1] + x[rs2]": x(lambda: X1() + X2()),
    "x[rd] = x[rs1] + imm": x(lambda: X1() + ir.param("imm")),
    "x[rd] = x[rs1] - 4": x(lambda: X1() + -4),
    "x[rd] = x1 & -2": x(lambda: ir.read_x(1) & -2),
    "x[rd] = x[rs1] & 0xffffffff": x(lambda: X1() & 0xFFFFFFFF),
    # parentheses: only where they change the meaning, or where a shift or comparison needs them
    "x[rd] = x[rs1] - (x[rs2] - imm)": x(lambda: X1() - (X2() - ir.param("imm"))),
    "x[rd] = x[rs1] - x[rs2] - imm": x(lambda: X1() - X2() - ir.param("imm")),
    "x[rd] = x[rs1] * (x[rs2] + imm)": x(lambda: X1() * (X2() + ir.param("imm"))),
    "x[rd] = x[rs1] + x[rs2] * imm": x(lambda: X1() + X2() * ir.param("imm")),
    "x[rd] = x[rs1] + (x[rs2] << 2)": x(lambda: X1() + (X2() << 2)),
    "x[rd] = (x[rs1] + 7) >>u 3": x(lambda: ir.shr_u(X1() + 7, 3)),
    "x[rd] = ~(x[rs1] ^ x[rs2])": x(lambda: ~(X1() ^ X2())),
    "x[rd] = x[rs1] & ~x[rs2]": x(lambda: X1() & ~X2()),
    "x[rd] = zext64((x[rs1] == 0) & !(x[rs1] <u x[rs2]))":
        x(lambda: ir.zext((X1() == 0) & ~ir.lt_u(X1(), X2()), 64)),
    # signs
    "x[rd] = zext64(x[rs1] <s x[rs2])": x(lambda: ir.zext(ir.lt_s(X1(), X2()), 64)),
    "x[rd] = x[rs1] >>s x[rs2]": x(lambda: ir.shr_s(X1(), X2())),
    "x[rd] = x[rs1] *hu x[rs2]": x(lambda: ir.mulh_u(X1(), X2())),
    "x[rd] = x[rs1] *hs x[rs2]": x(lambda: ir.mulh_s(X1(), X2())),
    "x[rd] = x[rs1] *hsu x[rs2]": x(lambda: ir.mulh_su(X1(), X2())),
    "x[rd] = x[rs1] /s x[rs2]": x(lambda: ir.quot_s(X1(), X2())),
    "x[rd] = x[rs1] %u x[rs2]": x(lambda: ir.rem_u(X1(), X2())),
    "x[rd] = max_s(x[rs1], x[rs2])": x(lambda: ir.max_s(X1(), X2())),
    "x[rd] = where(x[rs1] == 0, x[rs2], -1)": x(lambda: ir.where(X1() == 0, X2(), -1)),
    "x[rd] = sext64(low32(x[rs1]) + low32(x[rs2]))":
        x(lambda: ir.sext(ir.trunc(X1(), 32) + ir.trunc(X2(), 32), 64)),
    # memory
    "x[rd] = sext64(mem32[x[rs1] + imm])":
        x(lambda: ir.sext(ir.load(X1() + ir.param("imm"), 32), 64)),
    "mem8[x[rs1]] = low8(x[rs2])": lambda: ir.store(X1(), ir.trunc(X2(), 8)),
    "mem8[x[rs1]]": lambda: ir.load(X1(), 8),
    "t1 = mem32[x[rs1]]; mem32[x[rs1]] = t1 + low32(x[rs2]); x[rd] = sext64(t1)": amo,
    "t1 = mem64[x[rs1]]; mem64[x[rs1]] = x[rs2]; x[rd] = t1": amoswap,
    "v[vd] = mem8[x[rs1] + zext64(v[vs2])]": gather,
    "mem32[x[rs1] ... if mask(v0)] = v[vs3]": scatter,
    "fault1 = (mem32[x[rs1] ...] = v[vs3]); vstart = fault1": scatter_fault,
    "t1 = i <u vl; t2, fault1 = mem32[x[rs1] ... if t1]; if (fault1 != 8) { vstart = fault1; "
    'trap(13, "load page fault", tval = x[rs1] + fault1 * 4) }; '
    "v[vd] = where(t1, t2, v[vd])": vector_load,
    # statements
    "x[rd] = pc + 4; pc = (x[rs1] + imm) & -2": jalr,
    "if (x[rs1] <s x[rs2]) { pc = pc + imm }": branch,
    'trap(3, "breakpoint")': lambda: ir.trap(3, "breakpoint"),
    "t1 = (x[rs1] + x[rs2]) * (x[rs1] - x[rs2]); x[rd] = t1 + (t1 >>u 1)": long_twice,
    "c = 0; for (j < 64) { c = c ^ where(low1(x[rs2] >>u j), x[rs1] << j, 0) }; x[rd] = c": loop,
    "c_0 = x[rs1]; c_1 = 0; for (j < 64) { t1 = (c_0 >>u 1) == 0; "
    "c_0, c_1 = c_0 >>u 1, c_1 + 1; if (t1) { break } }; x[rd] = c_1": loop_until,
    # lanes
    "v[vd] = v[vs2] + v[vs1]": v(lambda: V2() + V1()),
    "v[vd] = v[vs2] + low32(x[rs1])": v(lambda: V2() + ir.trunc(X1(), 32)),
    "v[vd] = sext64(v[vs2]) * zext64(v[vs1])": v(lambda: ir.sext(V2(), 64) * ir.zext(V1(), 64)),
    "v[vd+2].byte[16 ...] = v[vs2+1]":
        lambda: ir.write_v("vd", ir.read_v("vs2", 8, 16, reg_offset=1), 2, 16),
    "mask(v[vd]) = mask(v[vs2]) & mask(v0)":
        lambda: ir.write_mask("vd", ir.read_mask("vs2", 8) & ir.read_mask(0, 8)),
    "v[vd] = take(v[vs2], v[vs1])": v(lambda: ir.take(V2(), V1())),
    "v[vd] = insert(v[vs2], 0, v[vs1][3])": v(lambda: ir.insert(V2(), 0, ir.extract(V1(), 3))),
    "v[vd] = v[vs2][2:6]": v(lambda: ir.shuffle(V2(), range(2, 6))),
    "v[vd] = v[vs2][0:7:2]": v(lambda: ir.shuffle(V2(), range(0, 8, 2))),
    "v[vd] = v[vs2][i / 3]": v(lambda: ir.shuffle(V2(), [k // 3 for k in range(12)])),
    "v[vd] = concat(v[vs1], v[vs2])[i % 2 * 8 + i / 2]":
        v(lambda: ir.shuffle(ir.concat(V1(), V2()), [k % 2 * 8 + k // 2 for k in range(16)])),
    "v[vd] = v[vs2][[3, 0, 1]]": v(lambda: ir.shuffle(V2(), [3, 0, 1])),
    "v[vd] = v[vs2][[0, 2, 3, 5, 6, 7, 1, 4, ...]]":
        v(lambda: ir.shuffle(V2(), [0, 2, 3, 5, 6, 7, 1, 4, 4])),
    "v[vd] = compress(v[vs2], mask(v[vs1]))": v(lambda: ir.compress(V2(), ir.read_mask("vs1", 8))),
    "v[vd] = as_e8(v[vs2])": v(lambda: ir.bitcast(V2(), ir.lanes(32, 8))),
    "v[vd] = prefix_count(mask(v[vs2]))": v(lambda: ir.prefix_count(ir.read_mask("vs2", 8), 32)),
    "v[vd] = group_sum(v[vs2], 4)": v(lambda: ir.group_sum(V2(), 4)),
    "x[rd] = zext64(sum(v[vs2]))": x(lambda: ir.zext(ir.reduce("add", V2()), 64)),
    "x[rd] = zext64(reduce(max_s, v[vs2]))": x(lambda: ir.zext(ir.reduce("max_s", V2()), 64)),
    "x[rd] = first(v[vs2] == 0)": x(lambda: ir.first(V2() == 0)),
    "v[vd] = v[vs2] - 16": v(lambda: V2() + -16),
    "x[rd] = demo(x[rs1], x[rs2])": x(lambda: demo()["sum"]),
    "r = demo(x[rs1], x[rs2]); x[rd] = r.product ^ r": x(
        lambda: demo()["product"] ^ demo()["sum"]
    ),
    "": lambda: ir.write_x(0, X1()),
}  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_a_program_reads_as(text: str) -> None:
    assert formula(traced(FORMULAS[text])) == text


def test_fields_put_registers_in() -> None:
    program = traced(lambda: ir.write_v("vd", ir.read_v("vs2", 8, 8, 1) + ir.param("imm", 8)))
    fields = {"vd": 8, "vs2": 2, "imm": -3}
    assert formula(program, fields=fields) == "v8 = v3 - 3"


def test_a_write_to_x0_is_not_shown() -> None:
    assert formula(traced(jalr), fields={"rd": 0, "rs1": 1, "imm": 0}) == "pc = (x1 + 0) & -2"


def test_statements_can_stand_on_lines() -> None:
    assert formula(traced(jalr), separator="\n").count("\n") == 1


def test_names_given_under_a_condition_are_not_used_behind_it() -> None:
    def body() -> None:
        big = X1() * X2() + X1() + 3
        with ir.when(X1() == 0):
            ir.store(big, big)
        ir.store(big, big)

    assert formula(traced(body)) == (
        "if (x[rs1] == 0) { t1 = x[rs1] * x[rs2] + x[rs1] + 3; mem64[t1] = t1 }; "
        "t2 = x[rs1] * x[rs2] + x[rs1] + 3; mem64[t2] = t2"
    )
