"""The bundled kernels under rvsim: the checksum of the NumPy reference at every VLEN and policy."""

from __future__ import annotations

import functools
import runpy

import pytest

from rvsim.config import VlPolicy
from rvsim.machine import Machine, RunResult
from rvsim.toolchain import build_kernel, find_kernel, kernel_names

pytestmark = pytest.mark.compiled

VLENS = (128, 256, 512, 1024)
CONTENTS = {"undisturbed": "zero", "ones": "ones", "random:1": "random:1"}
"""What agnostic elements become, and what registers and the unused stack hold at first."""
NEEDS_VLEN = {"gemm_tile_ime": 256}
"""Families of kernels: IME is defined for one VLEN, the others run at any."""

LIMIT = 2_000_000


@functools.cache
def reference_checksum(name: str) -> int:
    return runpy.run_path(str(find_kernel(name).folder / "reference.py"))["checksum"]()


def run_kernel(
    name: str,
    vlen: int,
    *,
    cpu: str = "spacemit-x60",
    agnostic: str = "undisturbed",
    vl_policy: VlPolicy = "max",
) -> RunResult:
    initial = CONTENTS[agnostic]
    machine = Machine(cpu, vlen=vlen, agnostic=agnostic, initial=initial, vl_policy=vl_policy)
    machine.load(build_kernel(name))
    return machine.run(max_insns=LIMIT)


def assert_passes(result: RunResult, name: str) -> None:
    assert (result.reason, result.exit_code, result.trap) == ("exit", 0, None), result
    lines = result.stdout.decode().splitlines()
    assert lines[-1] == f"PASS checksum {reference_checksum(name):#018x}"
    assert not any(line.startswith("FAIL") for line in lines)
    assert result.stderr == b""


def runs_at(name: str, vlen: int) -> bool:
    return NEEDS_VLEN.get(find_kernel(name).family, vlen) == vlen


ANYWHERE = [name for name in kernel_names() if find_kernel(name).family not in NEEDS_VLEN]
RUNS = [(name, vlen) for name in kernel_names() for vlen in VLENS if runs_at(name, vlen)]
REFUSALS = [(name, vlen) for name in kernel_names() for vlen in VLENS if not runs_at(name, vlen)]


@pytest.mark.parametrize("agnostic", CONTENTS)
@pytest.mark.parametrize(("name", "vlen"), RUNS)
def test_kernel_passes_with_the_checksum_of_its_reference(
    name: str, vlen: int, agnostic: str
) -> None:
    assert_passes(run_kernel(name, vlen, agnostic=agnostic), name)


@pytest.mark.parametrize(("name", "vlen"), REFUSALS)
def test_kernel_says_which_vlen_it_needs(name: str, vlen: int) -> None:
    result = run_kernel(name, vlen)
    assert (result.reason, result.exit_code) == ("exit", 1)
    needs = NEEDS_VLEN[find_kernel(name).family]
    expected = f"{name} needs VLEN {needs}, and VLEN is {vlen}\n"
    assert result.stdout.decode() == expected


@pytest.mark.parametrize("agnostic", ["undisturbed", "ones"])
@pytest.mark.parametrize("vlen", [128, 256])
@pytest.mark.parametrize("name", ANYWHERE)
def test_strip_mining_holds_where_vl_is_half_of_what_is_left(
    name: str, vlen: int, agnostic: str
) -> None:
    assert_passes(run_kernel(name, vlen, agnostic=agnostic, vl_policy="half"), name)


def test_ime_needs_all_of_its_tile_whatever_the_vl_policy() -> None:
    """AVL = VLMAX = 32 is below the span in which the policy chooses."""
    assert_passes(run_kernel("gemm_tile_ime", 256, vl_policy="half"), "gemm_tile_ime")


@pytest.mark.parametrize("name", ANYWHERE)
def test_kernels_need_nothing_that_only_one_cpu_has(name: str) -> None:
    assert_passes(run_kernel(name, 256, cpu="generic-rv64gcv"), name)


@pytest.mark.parametrize(
    ("arguments", "checked", "timed"),
    [
        ("2", range(1, 9), ["8 tokens, 16 channels"]),
        ("2 3", [3], ["3 tokens, 16 channels"]),
        ("2 1 32", [1], ["1 tokens, 32 channels"]),
        ("1 0 20", range(1, 9), [f"{n} tokens, 20 channels" for n in range(1, 9)]),
    ],
)
def test_gemm_tile_s8_times_and_checks_what_it_is_asked_for(
    arguments: str, checked: list[int], timed: list[str]
) -> None:
    runs, *only = arguments.split()
    lines = run_gemm("gemm_tile_s8", arguments).stdout.decode().splitlines()
    passed = [line for line in lines if line.startswith("PASS tokens")]
    assert passed == [f"PASS tokens {n}" for n in checked]
    assert ("PASS long sums" in lines) == (not only)
    found = [line.partition(" runs, ")[0] for line in lines if line.startswith("bench ")]
    assert found == [f"bench {what}, k 256: {runs}" for what in timed]


@pytest.mark.parametrize("arguments", ["1 9", "1 8 33"])
def test_gemm_tile_s8_refuses_to_time_more_than_it_has(arguments: str) -> None:
    result = run_gemm("gemm_tile_s8_u4", arguments)
    assert result.exit_code == 1
    assert result.stdout == b"gemm_tile_s8_u4 times up to 8 tokens and 32 channels\n"


def run_gemm(name: str, arguments: str) -> RunResult:
    machine = Machine()
    machine.load(build_kernel(name), argv=[name, *arguments.split()])
    return machine.run(max_insns=LIMIT)
