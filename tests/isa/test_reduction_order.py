"""Unordered floating-point sums take the order that the configuration chooses (V 14.3)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest

from rvsim.config import ReductionOrder
from rvsim.insn.isa import isa
from rvsim.profiles import make_config
from rvsim.vec.vtype import VType
from tests.harness import Case, run_numpy

FIELDS = {"vd": 8, "vs2": 16, "vs1": 24, "vm": 1}
CANCELLING = (1e8, 1.0, -1e8, 1.0)  # 1e8 + 1 is 1e8 in f32


def total(
    elements: Sequence[float],
    order: ReductionOrder,
    *,
    seed: int = 0,
    name: str = "vfredusum.vs",
    start: float = 0.0,
    vl: int = 4,
) -> float:
    file = bytearray(32 * 32)
    file[16 * 32 : 16 * 32 + 4 * len(elements)] = struct.pack(f"<{len(elements)}f", *elements)
    file[24 * 32 : 24 * 32 + 4] = struct.pack("<f", start)
    case = Case(
        isa().by_name[name], FIELDS, v=bytes(file), vtype=VType(5, 0).encode(), vl=vl,
        reduction_order=order, reduction_seed=seed,
    )  # fmt: skip
    outcome = run_numpy(case)
    assert outcome.trap is None
    return struct.unpack_from("<f", outcome.v, 8 * 32)[0]


def test_sequential_goes_from_the_first_element_to_the_last() -> None:
    assert total(CANCELLING, "sequential") == 1.0


def test_a_tree_adds_halves_to_halves() -> None:
    assert total((*CANCELLING, 0.0, 0.0, 0.0, 0.0), "tree", vl=8) == 2.0


def test_random_orders_are_among_the_legal_ones_and_repeat() -> None:
    found = {seed: total(CANCELLING, "random", seed=seed) for seed in range(40)}
    assert set(found.values()) <= {0.0, 1.0, 2.0}
    assert len(set(found.values())) > 1
    assert found == {seed: total(CANCELLING, "random", seed=seed) for seed in range(40)}


@pytest.mark.parametrize("order", ["sequential", "tree", "random"])
def test_ordered_sums_ignore_the_choice(order: ReductionOrder) -> None:
    assert total(CANCELLING, order, seed=3, name="vfredosum.vs") == 1.0


@pytest.mark.parametrize("order", ["sequential", "tree", "random"])
def test_the_scalar_counts_and_inactive_elements_do_not(order: ReductionOrder) -> None:
    assert total((1.0, 2.0, 99.0), order, start=10.0, vl=2) == 13.0


def test_the_order_is_an_option_with_a_seed() -> None:
    config = make_config(reduction_order="random:7")
    assert (config.reduction_order, config.reduction_seed) == ("random", 7)
