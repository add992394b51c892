"""Right kernels pass, and defects that no emulator shows are found, shrunk and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import rvsim
from rvsim import strategies as rv
from rvsim.verifier import GuestProgram

KERNELS = Path(__file__).parent / "kernels"
FEW = 25


@pytest.fixture(scope="session")
def right() -> GuestProgram:
    return rvsim.compile(KERNELS / "dot.c")


@pytest.fixture(scope="session")
def broken() -> GuestProgram:
    return rvsim.compile(KERNELS / "dot.c", macros={"DEFECT": 1})


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def dot(a: Any, b: Any) -> Any:
    return int(a.astype(np.int64) @ b.astype(np.int64))


def vectors() -> dict[str, Any]:
    n = rv.size("n", sew=8)
    return {"a": rv.array(np.int8, n), "b": rv.array(np.int8, n), "n": n}


def test_a_right_kernel_passes_at_every_vlen(right: GuestProgram) -> None:
    report = rvsim.verify(right["dot_s8"], dot, vectors(), examples=FEW)
    assert report.examples >= FEW
    assert {c.vlen for c in report.runs} == {128, 256, 512, 1024}
    assert min(report.runs.values()) >= 20


def test_an_agnostic_tail_that_is_relied_on_is_found(broken: GuestProgram) -> None:
    """Case C1: `ta` where `tu` is needed."""
    with pytest.raises(rvsim.Mismatch) as found:
        rvsim.verify(broken["dot_s8"], dot, vectors(), examples=60)
    failed = {c.agnostic for c in found.value.fails}
    assert failed <= {"ones", "random"}
    assert "ones" in failed
    assert found.value.failure.kind == "value"


def test_a_vlen_that_is_assumed_is_found(right: GuestProgram) -> None:
    """Case C4: right by luck where VLEN is 256."""
    arguments = {"to": rv.out(np.float32, 8), "from": rv.array(np.float32, 8)}

    def copied(**given: Any) -> Any:
        return given["from"]

    rvsim.verify(right["copy8"], copied, arguments, vlens=(256,), examples=5)
    for vlen, kind in ((128, "wrong"), (512, "wrote outside"), (1024, "wrote outside")):
        with pytest.raises(rvsim.Mismatch) as found:
            rvsim.verify(right["copy8"], copied, arguments, vlens=(vlen,), examples=5)
        assert found.value.failure.kind == kind
        assert found.value.failure.place == "to"


def test_an_unordered_sum_may_have_any_order(right: GuestProgram, broken: GuestProgram) -> None:
    n = rv.size("n", sew=32, lmul=2)
    numbers = rv.array(np.float32, n, elements=rv.floats(32, -100, 100))
    arguments = {"a": numbers, "b": numbers, "n": n}

    def total(a: Any, b: Any) -> Any:
        return rvsim.Sum(a.astype(np.float64) * b, dtype=np.float32, fused=True)

    report = rvsim.verify(right["dot_f32"], total, arguments, examples=FEW)
    assert {c.reduction for c in report.runs} == {"sequential", "tree", "random"}
    with pytest.raises(rvsim.Mismatch) as found:
        rvsim.verify(broken["dot_f32"], total, arguments, examples=60)
    with pytest.raises(rvsim.Mismatch):
        rvsim.replay(found.value.saved or "")


def halved(a: Any, n: int) -> None:
    a[:n] = np.rint(a[:n] / 2).astype(np.int16)


def test_a_rounding_mode_that_is_never_set_is_found(
    right: GuestProgram, broken: GuestProgram
) -> None:
    """Case C12: vxrm at entry may be anything."""
    n = rv.size("n", sew=16)
    arguments = {"a": rv.array(np.int16, n), "n": n}
    rvsim.verify(right["halve"], halved, arguments, vlens=(256,), examples=FEW)
    with pytest.raises(rvsim.Mismatch) as found:
        rvsim.verify(broken["halve"], halved, arguments, vlens=(256,), examples=60)
    failure = found.value.failure
    assert (failure.kind, failure.place) == ("wrong", "a")
    assert {c.vxrm for c in found.value.fails} >= {"rnu"}
    assert np.count_nonzero(found.value.arguments["a"]) == 1


def test_a_saved_case_fails_again_without_hypothesis(broken: GuestProgram) -> None:
    with pytest.raises(rvsim.Mismatch) as found:
        rvsim.verify(broken["dot_s8"], dot, vectors(), examples=60)
    assert found.value.saved is not None
    with pytest.raises(rvsim.Mismatch) as again:
        rvsim.replay(found.value.saved)
    assert str(again.value.failure.text) == found.value.failure.text


def test_a_saved_case_keeps_what_shares_memory(tmp_path: Path) -> None:
    program = rvsim.compile(KERNELS / "calls.c")
    whole = rv.array(np.uint8, 40)
    arguments = {
        "to": rv.view(whole, st.integers(0, 8)),
        "from": rv.view(whole, st.integers(0, 8)),
        "n": st.integers(0, 32),
    }

    def moved(**given: Any) -> Any:
        to, n = given["to"], given["n"]
        to[:n] = given["from"][:n].copy()
        return {"return": rvsim.pointer_to("to", n)}

    with pytest.raises(rvsim.Mismatch) as found:
        rvsim.verify(program["copy"], moved, arguments, vlens=(256,), examples=200)
    with pytest.raises(rvsim.Mismatch) as again:
        rvsim.replay(found.value.saved or "")
    before, after = found.value.failure.got, again.value.failure.got
    assert before is not None
    assert after is not None
    assert (after == before).all()


def test_a_case_that_cannot_be_saved_is_told_all_the_same(
    right: GuestProgram, tmp_path: Path
) -> None:
    (tmp_path / ".rvsim").write_text("in the way")
    arguments = {"to": rv.out(np.float32, 8), "from": rv.array(np.float32, 8)}
    with pytest.raises(rvsim.Mismatch) as found:
        rvsim.verify(right["copy8"], lambda: np.zeros(8), arguments, vlens=(256,), examples=9)
    assert found.value.saved is None
    assert "not saved" in found.value.__notes__[0]


def test_a_comparison_of_ones_own_is_not_saved(right: GuestProgram) -> None:
    class Nothing:
        def wrong(self, got: Any, expected: Any) -> Any:
            return np.ones(np.shape(got), np.bool_)

    arguments = {"to": rv.out(np.float32, 8), "from": rv.array(np.float32, 8)}
    with pytest.raises(rvsim.Mismatch) as found:
        rvsim.verify(
            right["copy8"],
            lambda **given: given["from"],
            arguments,
            vlens=(256,),
            compare=Nothing(),
            examples=3,
        )
    assert found.value.saved is None
    assert "can't hold" in found.value.__notes__[0]


def test_what_is_expected_at_a_vlen(right: GuestProgram) -> None:
    arguments = {"to": rv.out(np.float32, 8), "from": rv.array(np.float32, 8)}
    with pytest.raises(rvsim.Mismatch, match="a trap was expected"):
        rvsim.verify(
            right["copy8"],
            lambda **given: given["from"],
            arguments,
            vlens=(256,),
            expect={256: rvsim.trap("illegal")},
            examples=3,
        )


def test_reference_and_kernel_may_take_other_arguments(right: GuestProgram) -> None:
    @st.composite
    def cases(draw: st.DrawFn) -> rvsim.Case:
        a = draw(rv.array(np.int8, 17))
        return rvsim.Case((a, a[::-1].copy(), 17), reference=(a,))

    report = rvsim.verify(
        right["dot_s8"], lambda a: dot(a, a[::-1]), cases(), vlens=(256,), examples=5
    )
    assert report.calls > 0


@pytest.mark.parametrize(
    ("reference", "error", "words"),
    [
        (lambda a, x: 0, TypeError, "the reference takes x"),
        (lambda a, b: (1, 2), TypeError, "returns 2 results"),
        (lambda a, b: 1 // 0, ZeroDivisionError, "division"),
    ],
)
def test_faults_of_the_reference_are_its_own(
    right: GuestProgram, reference: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        rvsim.verify(right["dot_s8"], reference, vectors(), vlens=(256,), examples=2)


def test_a_verification_of_nothing_is_an_error(right: GuestProgram) -> None:
    arguments = {"a": rv.array(np.int16, 0), "n": st.just(0)}
    with pytest.raises(rvsim.RvsimError, match="nothing of halve was verified"):
        rvsim.verify(right["halve"], lambda: None, arguments, vlens=(256,), examples=2)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY"])
def test_a_file_that_is_no_case_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "case.npz"
    file.write_bytes(content)
    with pytest.raises(rvsim.RvsimError, match="no saved case"):
        rvsim.replay(file)
