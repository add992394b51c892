"""Instructions whose groups are lowered by strips, as regions of their own, at large VLEN."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rvsim.engine.jit.strips import analysis
from rvsim.insn.registry import Insn
from rvsim.insn.units import Unit
from tests.isa.test_jit_equals_numpy import agree
from tests.isa.vector_cases import VECTOR

pytestmark = pytest.mark.compiled

INSNS = [insn for insn in VECTOR if insn.unit != Unit.VMADOT]
SOME = [i for i in INSNS if "segment" not in i.unit or "seg3" in i.name]
"""Segments are a quarter of all instructions, much alike."""


@pytest.fixture
def narrow_hosts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Anything of more than 32 bytes is lowered by strips."""
    monkeypatch.setattr(analysis, "WIDE_BITS", 256)
    analysis.is_wide.cache_clear()
    yield
    analysis.is_wide.cache_clear()


@pytest.mark.usefixtures("narrow_hosts")
@pytest.mark.parametrize("insn", SOME, ids=lambda insn: insn.name)
def test_strips_do_what_the_reference_does(insn: Insn) -> None:
    agree(insn, 1, 4, vlen=1024)


@pytest.mark.slow
@pytest.mark.usefixtures("narrow_hosts")
@pytest.mark.parametrize("vlen", [128, 256, 1024, 4096])
@pytest.mark.parametrize("insn", INSNS, ids=lambda insn: insn.name)
def test_strips_do_so_at_length(insn: Insn, vlen: int) -> None:
    agree(insn, 6, 6, vlen, seed=vlen)
