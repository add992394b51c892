"""The hosts that compiled code can be made for: their names, and what LLVM is told of them."""

from __future__ import annotations

import platform
from collections.abc import Iterable

import llvmlite.binding as llvm
import pytest

from rvsim.errors import RvsimError
from rvsim.host import processor as hosts
from rvsim.host.processor import (
    GENERIC,
    LEVELS,
    NAMES,
    NATIVE,
    Host,
    check_host,
    find_host,
    level_in_place_of,
    usable_hosts,
)
from rvsim.ir.llvm.engine import target_machine
from rvsim.machine import Machine

NATIVE_FEATURES = frozenset(f for f, there in llvm.get_host_cpu_features().items() if there)


@pytest.fixture
def small_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An x86-64 processor with AVX2 and no more."""
    native = Host.of(NATIVE, "x86_64", "x86_64-linux-gnu", "haswell", LEVELS["x86-64-v3"])
    monkeypatch.setattr(hosts, "_native", lambda arch: native)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(hosts, "_triple", lambda: native.triple)
    hosts._found.cache_clear()


@pytest.fixture(autouse=True)
def _no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(hosts.VARIABLE, raising=False)
    hosts._found.cache_clear()


def test_without_a_choice_it_is_this_processor() -> None:
    host = find_host()
    assert (host.name, host.features) == (NATIVE, NATIVE_FEATURES)
    assert host.cpu == llvm.get_host_cpu_name()
    assert host.has()
    assert not host.has("no such feature")


@pytest.mark.parametrize("name", usable_hosts())
def test_the_variable_chooses_and_an_argument_chooses_before_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(hosts.VARIABLE, name)
    assert find_host().name == check_host() == Machine(memory_size=1 << 16).options.host == name
    assert find_host(GENERIC).name == check_host(GENERIC) == GENERIC


@pytest.mark.parametrize(
    ("name", "hint"),
    [("x86-64v3", "did you mean 'x86-64-v3'?"), ("X86-64-V2", "did you mean 'x86-64-v2'?"),
     ("natve", "did you mean 'native'?"), ("6502", "choose one of native, x86-64-v2")],
)  # fmt: skip
def test_a_misspelt_name_is_told_with_the_nearest(
    name: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RvsimError, match="unknown host") as caught:
        Machine(host=name, engine="numpy")
    assert str(caught.value.hint).startswith(hint)
    monkeypatch.setenv(hosts.VARIABLE, name)
    with pytest.raises(RvsimError, match=f"unknown host '{name}' in {hosts.VARIABLE}"):
        Machine()


@pytest.mark.usefixtures("small_computer")
def test_a_level_above_this_processor_is_refused() -> None:
    with pytest.raises(RvsimError, match=r"is no x86-64-v4, it lacks avx512bw, avx512cd") as caught:
        find_host("x86-64-v4")
    assert caught.value.hint == "choose one of native, x86-64-v3, x86-64-v2, generic"
    assert find_host("x86-64-v3").features == LEVELS["x86-64-v3"]


@pytest.mark.parametrize("machine", ["aarch64", "arm64"])
def test_a_level_of_x86_is_refused_elsewhere(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(RvsimError, match="x86-64-v2 is a level of x86-64") as caught:
        check_host("x86-64-v2")
    assert caught.value.hint == f"{machine} has native and generic"
    assert usable_hosts() == [NATIVE, GENERIC]


SAMPLES = """
define i64 @popcnt(i64 %a) { %r = call i64 @llvm.ctpop.i64(i64 %a)  ret i64 %r }
define i64 @lzcnt(i64 %a) { %r = call i64 @llvm.ctlz.i64(i64 %a, i1 0)  ret i64 %r }
define i64 @bmi(i64 %a) { %r = call i64 @llvm.cttz.i64(i64 %a, i1 0)  ret i64 %r }
define i64 @bmi2(i64 %a, i64 %b) { %r = shl i64 %a, %b  ret i64 %r }
define void @movbe(ptr %p, i64 %a) {
  %r = call i64 @llvm.bswap.i64(i64 %a)  store i64 %r, ptr %p  ret void
}
define i128 @cx16(ptr %p) { %r = atomicrmw add ptr %p, i128 1 seq_cst  ret i128 %r }
define <16 x i8> @ssse3(<16 x i8> %a) {
  %r = call <16 x i8> @llvm.abs.v16i8(<16 x i8> %a, i1 0)  ret <16 x i8> %r
}
define <2 x double> @sse41(<2 x double> %a) {
  %r = call <2 x double> @llvm.floor.v2f64(<2 x double> %a)  ret <2 x double> %r
}
define <2 x i1> @sse42(<2 x i64> %a, <2 x i64> %b) {
  %r = icmp sgt <2 x i64> %a, %b  ret <2 x i1> %r
}
define <8 x float> @f16c(<8 x half> %a) {
  %r = fpext <8 x half> %a to <8 x float>  ret <8 x float> %r
}
define <8 x float> @fma(<8 x float> %a) {
  %r = call <8 x float> @llvm.fma.v8f32(<8 x float> %a, <8 x float> %a, <8 x float> %a)
  ret <8 x float> %r
}
define <8 x i32> @avx2(<8 x i32> %a) { %r = mul <8 x i32> %a, %a  ret <8 x i32> %r }
define <16 x i32> @avx512f(<16 x i32> %a) { %r = mul <16 x i32> %a, %a  ret <16 x i32> %r }
define <8 x i64> @avx512dq(<8 x i64> %a) { %r = mul <8 x i64> %a, %a  ret <8 x i64> %r }
define <4 x i64> @avx512vl(<4 x i64> %a) { %r = mul <4 x i64> %a, %a  ret <4 x i64> %r }
define <64 x i8> @avx512bw(<64 x i8> %a) { %r = add <64 x i8> %a, %a  ret <64 x i8> %r }
define <8 x i64> @avx512cd(<8 x i64> %a) {
  %r = call <8 x i64> @llvm.ctlz.v8i64(<8 x i64> %a, i1 0)  ret <8 x i64> %r
}
"""
"""Functions, each of which is shorter code with the feature that it is named after."""


def test_a_level_is_what_llvm_has_under_its_name() -> None:
    def code(cpu: str, features: Iterable[str]) -> str:
        host = Host.of(cpu, "x86_64", "x86_64-linux-gnu", cpu, features)
        return str(target_machine(host, opt=2).emit_assembly(llvm.parse_assembly(SAMPLES)))

    with_features = [code(level, features) for level, features in LEVELS.items()]
    assert with_features == [code(level, ()) for level in LEVELS]
    assert len({code("x86-64", ()), *with_features}) == 4


@pytest.mark.parametrize(
    ("features", "level"),
    [
        (LEVELS["x86-64-v2"], None),
        (LEVELS["x86-64-v2"] | {"avx"}, "x86-64-v2"),
        (LEVELS["x86-64-v3"] - {"fma"}, "x86-64-v2"),
        (LEVELS["x86-64-v3"] - {"movbe"} | {"gfni"}, None),
        (LEVELS["x86-64-v3"] | {"avx512f", "avx512cd"}, "x86-64-v3"),
        (LEVELS["x86-64-v4"] | {"avx512vbmi"}, None),
    ],
)
def test_of_vector_instructions_that_are_there_in_part_none_is_used(
    features: frozenset[str], level: str | None
) -> None:
    assert level_in_place_of(features) == level


def test_every_name_is_found_or_refused_with_a_reason() -> None:
    for name in NAMES:
        if name in usable_hosts():
            assert find_host(name).name == name
        else:
            with pytest.raises(RvsimError, match=name):
                find_host(name)
