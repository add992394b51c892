"""Operations that the JIT leaves to the host's floating point, against the softfloat oracles.

Each operation is compiled in a loop over rows of operands, with the host's flags taken after each
row: once for scalars, and once for lanes, where the flags of all lanes come together.
"""

from __future__ import annotations

import ctypes
import io
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from llvmlite import ir as llvm_ir

from rvsim import fp, ir
from rvsim.engine.jit.compile import link, object_code
from rvsim.engine.jit.lower import RegionLowerer
from rvsim.engine.jit.operations import host_float
from rvsim.host.processor import Host, baseline, find_host, usable_hosts
from rvsim.ir.llvm.build import I8, I64, PTR, Frame, at, element_type, llvm_type, new_module
from rvsim.ir.program import NamedOperation
from rvsim.ir.trace import Trace
from rvsim.ir.types import Type
from tests.isa.test_softfloat import CASES, IEEE, Case, Rows, arithmetic

LANES = 16
REFUSED = 0x80

HOST = host_float(find_host())
pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(HOST is None, reason="no floating-point environment is known here"),
]


def traced(case: Case, lanes: int | None) -> NamedOperation:
    """The case as a definition: its result and the flags that are not the host's, in 8 bits."""
    with Trace() as trace:
        params = [
            trace.node("carried", (), ((0, i), Type(width, lanes)))
            for i, width in enumerate(case.sources)
        ]
        mode = trace.node("carried", (), ((0, len(params)), ir.bits(3)))
        outcome = case.body(*params, mode)
        value, flags = outcome if isinstance(outcome, tuple) else (outcome, None)
        word = flags.accrued() if flags is not None else ir.const(0, 64)
    return NamedOperation(case.id, (*params, mode), (value, word), ("", "flags"))


def uses_host(case: Case) -> bool:
    """Whether any operation of the case is the host's."""
    function = traced(case, None)
    waiting, calls = list(function.results), []
    while waiting:
        value = waiting.pop()
        waiting.extend(value.args)
        if value.prim == "call":
            calls.append(value)
    return HOST is not None and any(
        HOST.rule(c.attrs[0].name, c.args[0].type.width) is not None for c in calls
    )


HOST_CASES = [case for case in CASES if uses_host(case)]


def rows_module(function: NamedOperation, host: Host) -> Any:
    """``rows(results, flags, *columns, count, frm)``: one round of a loop for each row."""
    floating_point = host_float(host)
    assert floating_point is not None
    env = floating_point.env
    module = new_module("bench", host)
    pointers = [PTR] * (1 + len(function.params))
    native = llvm_ir.Function(
        module, llvm_ir.FunctionType(llvm_ir.VoidType(), [*pointers, I64, I64]), "rows"
    )
    results, flags, *columns, count, frm = native.args
    entry = llvm_ir.IRBuilder(native.append_basic_block("entry"))
    b = llvm_ir.IRBuilder(native.append_basic_block("body"))
    frame = Frame(entry)
    saved = env.save(b, frame)
    head, done = b.append_basic_block("head"), b.append_basic_block("done")
    step, leave = b.append_basic_block("step"), b.append_basic_block("leave")
    row = frame.array(1, 64)
    b.store(I64(0), row)
    b.branch(head)
    b.position_at_end(head)
    index = b.load(row, typ=I64)
    env.begin(b, frame, frm)
    types = [llvm_type(p.type) for p in function.params[:-1]]
    operands = [
        b.load(at(b, column, index, type_), typ=type_, align=1)
        for column, type_ in zip(columns, types, strict=True)
    ]
    state: Any = SimpleNamespace(leave=leave)
    nothing: Any = None
    g = RegionLowerer(b, frame, state, nothing, {})
    g.host_float = floating_point
    value, word = super(RegionLowerer, g).call(
        function, [*operands, b.trunc(frm, llvm_ir.IntType(3))]
    )
    word = b.or_(word, env.take_flags(b, frame))
    if element_type(value).width == 1:
        value = b.zext(value, I8)
    b.store(value, at(b, results, index, value.type), align=1)
    b.store(b.trunc(word, I8), at(b, flags, index))
    b.branch(step)
    b.position_at_end(leave)
    b.store(I8(REFUSED), at(b, flags, index))
    b.branch(step)
    b.position_at_end(step)
    following = b.add(index, I64(1))
    b.store(following, row)
    b.cbranch(b.icmp_unsigned("<", following, count), head, done)
    b.position_at_end(done)
    env.restore(b, frame, saved)
    b.ret_void()
    entry.branch(native.blocks[1])
    return module


class Bench:
    """A case as native code: ``run(columns, mode)`` gives a result and the flags for each row."""

    def __init__(self, case: Case, lanes: int | None, host: Host | None = None) -> None:
        self.case = case
        self.lanes = lanes
        function = traced(case, lanes)
        self.dtypes = [np.dtype(f"u{w // 8}") for w in case.sources]
        self.out = np.dtype(f"u{max(case.target, 8) // 8}")
        self.library = link(object_code(rows_module(function, host or find_host())), "rows")
        pointers = [ctypes.c_void_p] * (2 + len(self.dtypes))
        signature = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_uint64, ctypes.c_uint64)
        self.native = signature(self.library.address)

    def run(self, columns: Sequence[Any], mode: int) -> tuple[Any, Any]:
        per_row = self.lanes or 1
        rows = -(-len(columns[0]) // per_row)
        operands = [
            np.resize(np.array(c, dtype), rows * per_row)
            for c, dtype in zip(columns, self.dtypes, strict=True)
        ]
        results, flags = np.zeros(rows * per_row, self.out), np.zeros(rows, "u1")
        pointers = [a.ctypes.data for a in (results, flags, *operands)]
        self.native(*pointers, rows, mode)
        return results[: len(columns[0])], flags


def compare(case: Case, rows: Rows, lanes: int | None) -> None:
    compare_on(Bench(case, lanes), rows)


def compare_on(bench: Bench, rows: Rows) -> None:
    case, lanes = bench.case, bench.lanes
    columns = list(zip(*rows, strict=True))
    for mode in case.modes:
        wanted = [case.oracle(*row, mode) for row in rows]
        results, flags = bench.run(columns, mode)
        refused = flags == REFUSED
        assert not refused.any() or mode == fp.RMM
        per_row = lanes or 1
        for i, (row, got, (value, _)) in enumerate(
            zip(rows, results.tolist(), wanted, strict=True)
        ):
            if not refused[i // per_row]:
                assert got == value, f"{case} {[*map(hex, row)]} in mode {mode}: {got:#x}"
        # The last row is filled up with the first operands.
        raised = np.resize(np.array([f for _, f in wanted], "u1"), len(flags) * per_row)
        expected = np.bitwise_or.reduce(raised.reshape(-1, per_row), axis=1)
        wrong = np.flatnonzero((flags != expected) & ~refused)
        assert not wrong.size, (
            f"{case} {[*map(hex, rows[wrong[0] * per_row])]} in mode {mode}: "
            f"flags {flags[wrong[0]]:05b} instead of {expected[wrong[0]]:05b}"
        )


@pytest.mark.parametrize("case", HOST_CASES, ids=str)
def test_scalars(case: Case) -> None:
    compare(case, case.rows(), None)


@pytest.mark.parametrize("case", HOST_CASES, ids=str)
def test_lanes(case: Case) -> None:
    rows = case.rows()
    compare(case, rows[:: max(1, len(rows) // 2000)], LANES)


def unresolved(code: bytes) -> set[str]:
    symbols = ELFFile(io.BytesIO(code)).get_section_by_name(".symtab").iter_symbols()
    return {s.name for s in symbols if s.name and s["st_shndx"] == "SHN_UNDEF"}


@pytest.mark.parametrize("name", ["x86-64-v3"] if "x86-64-v3" in usable_hosts() else [])
@pytest.mark.parametrize("case", HOST_CASES[::2], ids=str)
def test_lanes_on_a_smaller_processor(case: Case, name: str) -> None:
    """Without AVX-512: LLVM then emulates what has no instruction, or can't compile it."""
    rows = case.rows()
    bench = Bench(case, LANES, find_host(name))
    compare_on(bench, rows[:: max(1, len(rows) // 200)])


GUARDED = ("f32-mul", "f64-fma", "f64-to-f32", "f16-mul")


@pytest.mark.parametrize("case", [c for c in HOST_CASES if c.id in GUARDED], ids=str)
@pytest.mark.parametrize("lanes", [None, LANES])
def test_operands_that_a_guard_refuses(
    case: Case, lanes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a host that decides UF before rounding, which this one needn't be."""
    assert HOST is not None
    monkeypatch.setattr(type(HOST.env), "tiny_after_rounding", False)
    rows = case.rows()
    compare(case, rows[:: max(1, len(rows) // 1000)], lanes)


@pytest.mark.parametrize("lanes", [None, LANES])
def test_arm_needs_no_library(lanes: int | None) -> None:
    """Code for AArch64 calls nothing: an unresolved symbol would end the process when it runs."""
    host = baseline("aarch64", "aarch64-linux-gnu")
    for case in HOST_CASES:
        function = traced(case, lanes)
        code = object_code(rows_module(function, host))
        assert unresolved(code) <= {"memcpy", "memset"}, case


def test_the_host_does_what_kernels_are_made_of() -> None:
    """Of which x86-64 below level 3 lacks FMA."""
    host, names = find_host(), {case.id for case in HOST_CASES}
    lacking = {"fma"} if host.is_x86 and not host.has("fma") else set()
    wanted = {"add", "sub", "mul", "div", "sqrt", "fma"} - lacking
    assert {f"{f}-{op}" for f in ("f32", "f64") for op in wanted} <= names, sorted(names)
    assert not {f"{f}-{op}" for f in ("f32", "f64") for op in lacking} & names


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for n in IEEE for c in arithmetic(n, extra=100_000)], ids=str)
def test_many_random_operands(case: Case) -> None:
    if uses_host(case):
        compare(case, case.rows(), None)
        compare(case, case.rows(), LANES)
