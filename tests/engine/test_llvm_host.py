"""Moves of lanes as hosts with fewer instructions than this one make them, and as it does."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import llvmlite.binding as llvm
import pytest

from rvsim import ir
from rvsim.host.processor import LEVELS, Host, baseline, find_host, usable_hosts
from rvsim.ir import Value
from rvsim.ir.llvm import host as llvm_host
from rvsim.ir.llvm.backend import ModuleBuilder
from rvsim.ir.llvm.engine import target_machine

from .ir_harness import FIELDS, VLEN, Bench, pack, traced, unpack
from .test_ir_primitives import CASES

WIDTHS = (8, 16, 32, 64)
BYTES = (4, 16, 32, 64, 128, 256)


def x86(cpu: str, features: frozenset[str]) -> Host:
    """It need not be what the tests run on."""
    return Host.of(cpu, "x86_64", "x86_64-linux-gnu", cpu, features)


HOSTS = (
    x86("icelake-server", LEVELS["x86-64-v4"] | {"avx512vbmi", "avx512vbmi2"}),
    *(x86(name, features) for name, features in reversed(LEVELS.items())),
    baseline("aarch64", "aarch64-linux-gnu"),
)
FLOATING_POINT = re.compile(
    r"^\t(v?cvt\w*|v?(?:add|sub|mul|div|sqrt|min|max|cmp\w*|u?comi|round|fn?m(?:add|sub)\d*)[sp][sdh]"
    r"|[su]cvtf|fcvt\w*|f(?:add|sub|mul|n?madd|n?msub|ml[as]|div|sqrt|max|min|cmp|cm..|rint.)\w*)\s",
    re.MULTILINE,
)
"""Instructions of x86-64 and AArch64 that may raise flags, in LLVM's text."""


@pytest.fixture(params=usable_hosts())
def host(request: pytest.FixtureRequest) -> Host:
    return find_host(request.param)


def gather(n: int, m: int, width: int, index_width: int) -> None:
    a, index = ir.read_v("vs1", n, width), ir.read_v("vs2", m, index_width)
    ir.write_v("vd", ir.take(a, index))


def splat(n: int, width: int) -> None:
    index = ir.trunc(ir.read_x("rs1"), 16)
    ir.write_v("vd", ir.take(ir.read_v("vs1", n, width), ir.splat(index, n)))


def slide(n: int, width: int, up: bool) -> None:
    lane: Value = ir.iota(n, 16)
    offset = ir.splat(ir.trunc(ir.min_u(ir.read_x("rs1"), n), 16), n)
    index = lane - offset if up else lane + offset
    ir.write_v("vd", ir.take(ir.read_v("vs1", n, width), index))


def around(n: int) -> None:
    """An offset that may wrap around: lane 255 + 1 is lane 0."""
    offset = ir.splat(ir.trunc(ir.read_x("rs1"), 8), n)
    ir.write_v("vd", ir.take(ir.read_v("vs1", n, 8), ir.iota(n, 8) + offset))


def shapes() -> Iterator[tuple[int, int]]:
    for width in WIDTHS:
        for nbytes in BYTES:
            if nbytes * 8 >= width:
                yield nbytes * 8 // width, width


def lane(values: list[int], i: int) -> int:
    return values[i] if 0 <= i < len(values) else 0


def run(bench: Bench, name: str, values: list[int], width: int, **operands: object) -> list[int]:
    bench.state.buffer[:] = 0
    bench.set_v(FIELDS["vs1"], pack(values, width).to_bytes(len(values) * width // 8, "little"))
    for field, content in operands.items():
        if isinstance(content, int):
            bench.state.x[FIELDS[field]] = content
        elif isinstance(content, bytes):
            bench.set_v(FIELDS[field], content)
    assert bench.run_native(name) is None
    word = int.from_bytes(bench.state.vfile[:256].tobytes(), "little")
    return unpack(word, len(values), width)


def test_lanes_at_any_index(host: Host) -> None:
    """A table that is longer than the index is looked up in parts, as the S-box of AES is."""
    indices = {
        (n, m, w, iw)
        for n, w in shapes()
        for m in {n, max(1, 128 // w), max(1, n // 4)}
        for iw in {w, 16}
        if m <= n and m * iw <= 2048
    }
    bench = Bench(
        {str(case): traced(lambda c=case: gather(*c)) for case in sorted(indices)}, host=host
    )
    rng = random.Random(1)
    for n, m, width, index_width in sorted(indices):
        for _ in range(8):
            values = [rng.getrandbits(width) for _ in range(n)]
            top = (1 << index_width) - 1
            index = [rng.choice((rng.randrange(2 * n), rng.randint(0, top), top)) & top
                     for _ in range(m)]  # fmt: skip
            octets = pack(index, index_width).to_bytes(m * index_width // 8, "little")
            got = run(bench, str((n, m, width, index_width)), values, width, vs2=octets)
            assert got[:m] == [lane(values, i) for i in index]


def test_slides_and_single_lanes(host: Host) -> None:
    programs = {}
    for n, width in shapes():
        programs[f"{n}x{width} splat"] = traced(lambda n=n, w=width: splat(n, w))
        for up in (False, True):
            programs[f"{n}x{width} {up}"] = traced(lambda n=n, w=width, u=up: slide(n, w, u))
    bench = Bench(programs, host=host)
    rng = random.Random(2)
    for n, width in shapes():
        for amount in (0, 1, n // 2, n - 1, n, n + 1, rng.randrange(n), 1 << 63):
            values = [rng.getrandbits(width) for _ in range(n)]
            near = min(amount, n)
            for up in (False, True):
                got = run(bench, f"{n}x{width} {up}", values, width, rs1=amount)
                assert got == [lane(values, i - near if up else i + near) for i in range(n)]
            got = run(bench, f"{n}x{width} splat", values, width, rs1=amount)
            assert got == [lane(values, amount % (1 << 16))] * n


def test_an_index_that_wraps_around_is_no_slide(host: Host) -> None:
    bench = Bench({"around": traced(lambda: around(256))}, host=host)
    values = [i * 7 % 256 for i in range(256)]
    assert run(bench, "around", values, 8, rs1=3) == values[3:] + values[:3]


def pack_front(n: int, width: int) -> None:
    a, selected = ir.read_v("vs1", n, width), ir.read_mask("vs2", n)
    ir.write_v("vd", ir.compress(a, selected))


def test_selected_lanes_are_packed_and_zeros_follow(host: Host) -> None:
    bench = Bench(
        {str(case): traced(lambda c=case: pack_front(*c)) for case in shapes()}, host=host
    )
    rng = random.Random(3)
    for n, width in shapes():
        for share in (0.0, 0.1, 0.5, 0.9, 1.0):
            values = [rng.getrandbits(width) for _ in range(n)]
            selected = [int(rng.random() < share) for _ in range(n)]
            octets = pack(selected, 1).to_bytes(-(-n // 8), "little")
            kept = [value for value, one in zip(values, selected, strict=True) if one]
            got = run(bench, str((n, width)), values, width, vs2=octets)
            assert got == kept + [0] * (n - len(kept))


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.cpu)
def test_every_intrinsic_is_an_instruction_of_the_processors_it_is_for(host: Host) -> None:
    machine = target_machine(host, opt=2)
    for width in WIDTHS:
        for nbytes in BYTES:
            how = llvm_host.permute(host, width, nbytes)
            assert how is not None
            type_ = f"<{how.index_bytes * 8 // how.unit} x i{how.unit}>"
            text = (
                f"declare {type_} @{how.function}({type_}, {type_})\n"
                f"define {type_} @f({type_} %a, {type_} %b) {{\n"
                f"  %r = call {type_} @{how.function}({type_} %a, {type_} %b)\n"
                f"  ret {type_} %r\n}}\n"
            )
            assert how.function not in machine.emit_assembly(llvm.parse_assembly(text))


@pytest.mark.parametrize("host", HOSTS[2:], ids=lambda host: host.cpu)
def test_integers_are_computed_without_floating_point(host: Host) -> None:
    """LLVM sees no flags, so that it may compute integers in ways that raise them."""
    builder = ModuleBuilder(VLEN, host=host)
    for name, case in CASES.items():
        builder.add(case.program, name, fields=FIELDS)
    code = target_machine(host, opt=2).emit_assembly(llvm.parse_assembly(str(builder.module)))
    assert FLOATING_POINT.findall(code) == []


def test_the_list_of_floating_point_instructions_finds_those_of_a_shift() -> None:
    """LLVM's own way for lanes on a host without AVX2, which is not ours."""
    type_ = "<4 x i32>"
    text = (
        f"define {type_} @f({type_} %a, {type_} %b) {{ %r = shl {type_} %a, %b  ret {type_} %r }}"
    )
    machine = target_machine(x86("x86-64-v2", LEVELS["x86-64-v2"]), opt=2)
    assert FLOATING_POINT.findall(machine.emit_assembly(llvm.parse_assembly(text))) == ["cvttps2dq"]
