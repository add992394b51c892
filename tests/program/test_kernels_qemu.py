"""The bundled kernels under QEMU, and their NumPy references: right before rvsim runs them."""

from __future__ import annotations

import re
import runpy
from decimal import ROUND_CEILING, Decimal
from typing import Any

import pytest

from rvsim.toolchain import build_kernel, find_kernel, kernel_names
from tests.qemu import require_qemu, run_qemu

# IME is no part of QEMU: these only get as far as their check of VLEN there.
NEEDS_IME = {name for name in kernel_names() if find_kernel(name).family == "gemm_tile_ime"}
VLENS = (128, 256, 512, 1024)

pytestmark = pytest.mark.qemu


@pytest.fixture(autouse=True)
def _qemu() -> None:
    require_qemu()


def reference(name: str) -> dict[str, Any]:
    return runpy.run_path(str(find_kernel(name).folder / "reference.py"))


def reference_checksum(name: str) -> int:
    return reference(name)["checksum"]()


@pytest.mark.parametrize("ones", [False, True], ids=["undisturbed", "ones"])
@pytest.mark.parametrize("vlen", VLENS)
@pytest.mark.parametrize("name", sorted(set(kernel_names()) - NEEDS_IME))
def test_kernel_passes_with_the_checksum_of_its_reference(name: str, vlen: int, ones: bool) -> None:
    done = run_qemu(build_kernel(name), vlen, ones=ones)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}: vlen {vlen}\n" in done.stdout
    assert "FAIL" not in done.stdout
    last = done.stdout.splitlines()[-1]
    assert last == f"PASS checksum {reference_checksum(name):#018x}"


@pytest.mark.parametrize("name", sorted(set(kernel_names()) - NEEDS_IME))
def test_repeat_count_adds_timings_and_keeps_the_checksum(name: str) -> None:
    plain = run_qemu(build_kernel(name), 256).stdout.splitlines()
    timed = run_qemu(build_kernel(name), 256, args=["2"]).stdout.splitlines()
    bench = [line for line in timed if line.startswith("bench ")]
    assert bench
    assert all(re.fullmatch(r"bench .+: 2 runs, \d+ ticks", line) for line in bench)
    assert [line for line in timed if line not in bench] == plain


def test_errors_against_double_precision_are_those_against_the_c_library() -> None:
    exp_silu = reference("exp_silu_f32")["largest_errors"]()
    softmax = {"size 100": reference("softmax_f16")["largest_error"]()}
    for name, errors in (("exp_silu_f32", exp_silu), ("softmax_f16", softmax)):
        out = run_qemu(build_kernel(name), 256).stdout
        found = re.findall(r"^PASS (.+): largest error (.+) ulp, bound", out, re.MULTILINE)
        thousandth = Decimal("0.001")
        assert dict(found) == {
            what: str(Decimal(error).quantize(thousandth, ROUND_CEILING))
            for what, error in errors.items()
        }


@pytest.mark.parametrize("vlen", [128, 512, 1024])
def test_ime_kernel_says_which_vlen_it_needs(vlen: int) -> None:
    done = run_qemu(build_kernel("gemm_tile_ime"), vlen)
    assert done.returncode == 1
    assert done.stdout == f"gemm_tile_ime needs VLEN 256, and VLEN is {vlen}\n"
