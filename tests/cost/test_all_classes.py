"""Vector instructions of all classes have a time, however few elements a register has."""

from __future__ import annotations

import random

import pytest

from rvsim.cost import CostModel, load_core
from rvsim.engine.block import Mode
from rvsim.engine.interp import Interpreter
from rvsim.hart.memory import Memory
from rvsim.insn.decode import decode, problems
from rvsim.insn.isa import isa
from rvsim.profiles import make_config
from rvsim.vec.vtype import VType
from tests.program.bare import vector_fields

VTYPES = ("e8,mf8", "e64,m1")


@pytest.mark.parametrize("vlen", [128, 1024])
def test_all_can_be_timed(vlen: int) -> None:
    config = make_config("generic-rv64gcv", vlen=vlen)
    cost = CostModel(load_core("x60"))
    interp = Interpreter(config, cost.make_state(vlen), Memory(1 << 20), cost=cost)
    rng = random.Random(vlen)
    timed = 0
    for insn in isa().insns:
        if not insn.vregs:
            continue
        for text in VTYPES:
            vtype = VType.parse(text)
            fields = vector_fields(rng, insn, vtype, vm=1)
            d = decode(insn.encoding.encode(fields), 4)
            if d.insn is insn and not problems(insn, d.fields, vtype, config):
                program, _ = interp.binder.timing(d, Mode(vtype, "vl"))
                timed += program is not None
    assert timed > 400
