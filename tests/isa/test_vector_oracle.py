"""Every vector and IME instruction, as the numpy back end runs it, against the element oracle."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from rvsim.vec.vtype import VType
from tests.harness import (
    Case,
    Outcome,
    applicable_modes,
    assert_same,
    run_numpy,
    run_oracle,
)
from tests.isa.vector_cases import CONFIGURATION, VECTOR, VTYPES, configuration_cases, vector_cases
from tests.oracle.element import ROWS

PLAIN, MANY = 25, 100
Check = Callable[[Case, int], None]


def explore(insn: Insn, cases: st.SearchStrategy[Case], examples: int, check: Check) -> None:
    """Run `check` on many cases: the same ones each time in a plain run, new ones in a long one."""

    @settings(
        max_examples=examples,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(cases, st.integers(0, 5))
    def run(case: Case, choice: int) -> None:
        check(case, choice)

    if examples <= PLAIN:
        run = seed(zlib.crc32(insn.name.encode()))(run)
    run()


def test_every_instruction_has_an_oracle_row() -> None:
    assert not [i.name for i in (*VECTOR, *CONFIGURATION) if i.name not in ROWS]


def agrees(case: Case, choice: int) -> None:
    """The trace that fits the state best, and one that knows less, both do what the oracle does."""
    expected = run_oracle(case)
    best, *others = applicable_modes(case)
    assert_same(case, expected, run_numpy(case, best), f"[{best}]")
    if choice < len(others):
        known = others[choice]
        assert_same(case, expected, run_numpy(case, known), f"[{known}]")


@pytest.mark.parametrize("insn", VECTOR, ids=lambda insn: insn.name)
def test_numpy_agrees_with_the_oracle(insn: Insn) -> None:
    explore(insn, vector_cases(insn), PLAIN, agrees)


@pytest.mark.slow
@pytest.mark.parametrize("insn", VECTOR, ids=lambda insn: insn.name)
def test_numpy_agrees_with_the_oracle_at_length(insn: Insn) -> None:
    explore(insn, vector_cases(insn), MANY, agrees)


@pytest.mark.parametrize("insn", CONFIGURATION, ids=lambda insn: insn.name)
def test_configuration_agrees_with_the_oracle(insn: Insn) -> None:
    explore(insn, configuration_cases(insn), 300, agrees)


# -- agnostic = random: the oracle does not know the values, but it knows the places


def _distinct(case: Case) -> Case:
    """The case with no value that a fill of ones would leave as it was.

    Then agnostic elements are where the oracle's two policies differ: bytes without 0xff, and a
    mask destination that is 0.
    """
    v = bytearray(case.v.replace(b"\xff", b"\xfe"))
    if _writes_mask(case.insn):
        vlenb = case.vlen // 8
        at = case.fields["vd"] * vlenb
        v[at : at + vlenb] = bytes(vlenb)
    return replace(case, v=bytes(v))


def _writes_mask(insn: Insn) -> bool:
    return any(v.dest and v.eew.kind == "mask" for v in insn.vregs)


def _settled(case: Case, undisturbed: Outcome, ones: Outcome) -> int:
    """Bits of the register file that no policy may change, as a number."""
    bits = int.from_bytes(undisturbed.v, "little") ^ int.from_bytes(ones.v, "little")
    if not _writes_mask(case.insn):
        octets = bits.to_bytes(len(case.v), "little")
        bits = int.from_bytes(bytes(255 if octet else 0 for octet in octets), "little")
    return ~bits & (1 << 8 * len(case.v)) - 1


def is_random_only_where_agnostic(case: Case, choice: int) -> None:
    case = _distinct(case)
    undisturbed = run_oracle(replace(case, agnostic="undisturbed"))
    ones = run_oracle(replace(case, agnostic="ones"))
    settled = _settled(case, undisturbed, ones)
    first, again, other = (run_numpy(replace(case, agnostic="random", seed=n)) for n in (1, 1, 2))
    modes = applicable_modes(case)
    known = modes[choice % len(modes)]
    assert_same(case, first, again, "the same seed again:")
    less = run_numpy(replace(case, agnostic="random", seed=1), known)
    assert_same(case, first, less, f"[{known}]")
    expected = int.from_bytes(undisturbed.v, "little") & settled
    for outcome in (first, other):
        rest = replace(outcome, v=undisturbed.v)
        assert_same(case, undisturbed, rest, "all but the registers:")
        got = int.from_bytes(outcome.v, "little") & settled
        size = len(case.v)
        assert_same(
            case,
            replace(undisturbed, v=expected.to_bytes(size, "little")),
            replace(outcome, v=got.to_bytes(size, "little")),
            "active and prestart elements:",
        )
    loose = 8 * len(case.v) - settled.bit_count()
    assert loose < 64 or first.v != other.v, f"seeds 1 and 2 fill alike\n{case}"


def _has_vector_destination(insn: Insn) -> bool:
    return any(v.dest for v in insn.vregs) and insn.unit != Unit.VMADOT


@pytest.mark.parametrize(
    "insn", [i for i in VECTOR if _has_vector_destination(i)], ids=lambda insn: insn.name
)
def test_random_fill_touches_agnostic_elements_only(insn: Insn) -> None:
    explore(insn, vector_cases(insn, vlens=(128, 256)), 4, is_random_only_where_agnostic)


def test_vtypes_in_use_cover_every_sew_and_lmul() -> None:
    assert {v.sew for v in VTYPES} == {8, 16, 32, 64}
    assert {v.lmul_log2 for v in VTYPES} == set(range(-3, 4))
    assert len(VTYPES) == 22
    assert all(VType.decode(v.encode()) == v for v in VTYPES)
