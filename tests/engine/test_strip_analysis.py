"""What the strip lowering tells of values before it lowers them."""

from __future__ import annotations

import pytest

from rvsim import ir
from rvsim.engine.jit.strips import analysis
from rvsim.engine.jit.strips.arrays import stored_width
from rvsim.ir import Value

N = 64


def prefix(n: int = N) -> Value:
    """The mask of a body, as shapes make it."""
    limit = ir.trunc(ir.min_u(ir.read("vl"), n), 16)
    return ir.lt_u(ir.iota(n, 16), ir.splat(limit, n))


def test_a_prefix_bounds_what_is_masked_with_it() -> None:
    with ir.Trace():
        body = prefix()
        limit = body.args[1].args[0]
        assert analysis.bound(body) == (limit, 1)
        assert analysis.bound(ir.read_mask(0, N) & body) == (limit, 1)
        spread = ir.shuffle(body, [i // 3 for i in range(3 * N)])
        assert analysis.bound(spread) == (limit, 3)
        assert analysis.bound(~body) is None
        assert analysis.bound(ir.read_mask(0, N)) is None


def test_a_prefix_whose_lane_numbers_wrap_bounds_nothing() -> None:
    with ir.Trace():
        assert analysis.bound(ir.lt_u(ir.iota(512, 8), ir.splat(ir.param("uimm", 8), 512))) is None


def test_a_slide_is_known_by_an_offset_within_the_lanes() -> None:
    with ir.Trace():
        source, lane = ir.read_v("vs2", N, 8), ir.iota(N, 16)
        offset = ir.trunc(ir.min_u(ir.read_x("rs1"), N), 16)
        anything = ir.trunc(ir.read_x("rs1"), 16)
        assert analysis.slide(ir.take(source, lane + offset)) == (1, offset)
        assert analysis.slide(ir.take(source, lane - offset)) == (-1, offset)
        assert analysis.slide(ir.take(source, lane + anything)) is None
        assert analysis.slide(ir.take(source, ir.read_v("vs1", N, 16))) is None


def test_a_strip_fits_its_widest_value_and_leaves_no_lanes_over() -> None:
    with ir.Trace():
        narrow = ir.read_v("vs2", 1024, 8)
        assert analysis.strip_lanes(narrow) == 64
        assert analysis.strip_lanes(ir.sext(narrow, 32)) == 16
        assert analysis.strip_lanes(ir.where(prefix(1024), narrow, 0)) == 64
        assert analysis.strip_lanes(ir.read_v("vs2", 24, 8)) == 8
        assert analysis.strip_lanes(ir.splat(ir.read_x("rs1"), 3)) == 1


def program_of(width: int, index_width: int) -> ir.Program:
    """vd = vs2[vs1], with N lanes of so many bits."""
    with ir.Trace() as trace:
        source, index = ir.read_v("vs2", N, width), ir.zext(ir.read_v("vs1", N, 8), index_width)
        ir.write_v("vd", ir.take(source, index))
    return trace.finish()


def test_data_is_wide_sooner_than_what_is_only_computed() -> None:
    assert not analysis.is_wide(program_of(32, 64))
    assert analysis.is_wide(program_of(64, 64))
    assert analysis.is_wide(program_of(8, 256))


def total(a: Value, b: Value) -> dict[str, Value]:
    return {"": a + b}


def test_the_limit_of_harmless_operands_is_that_of_their_operation() -> None:
    with ir.Trace():
        body = prefix()
        limit = body.args[1].args[0]
        a, b = (ir.where(body, ir.read_v(v, N, 32), 1) for v in ("vs1", "vs2"))
        harmless = ir.call("total", total, a, b)[""]
        assert analysis.harmless_from(harmless.args[0]) is limit
        again = ir.call("total", total, harmless, a)[""]
        assert analysis.harmless_from(again.args[0]) is limit
        raw = ir.call("total", total, a, ir.read_v("vs2", N, 32))[""]
        assert analysis.harmless_from(raw.args[0]) is None


@pytest.mark.parametrize(("width", "stored"), [(1, 1), (3, 8), (8, 8), (16, 16), (24, 32)])
def test_lanes_are_stored_in_whole_bytes_but_for_masks(width: int, stored: int) -> None:
    assert stored_width(width) == stored
