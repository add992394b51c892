"""What vset* makes of its operands, against the rules of V 6.2 and 6.3."""

import pytest

from rvsim import ir
from rvsim.config import VlPolicy
from rvsim.vec.vset import Avl, avl_of, gives_vlmax, new_vl
from tests.engine.ir_harness import Bench, traced

POLICIES: tuple[VlPolicy, ...] = ("max", "half")
WORD = ir.Type(64)


@pytest.mark.parametrize("policy", POLICIES)
def test_vl_follows_the_rules_and_the_discovery_knows_where_it_is_vlmax(policy: VlPolicy) -> None:
    bench = Bench(
        {
            policy: traced(
                lambda: ir.write_x("rd", new_vl(ir.read_x("rs1"), ir.read_x("rs2"), policy))
            )
        }
    )
    for vlmax in (1, 2, 4, 32, 2048):
        for avl in (*range(2 * vlmax + 3), 1 << 63, (1 << 64) - 1):
            bench.set((avl, vlmax), (WORD, WORD))
            assert bench.run_python(policy) is None
            vl = bench.get(WORD)
            assert isinstance(vl, int)
            if avl <= vlmax:
                assert vl == avl
            elif avl < 2 * vlmax:
                assert -(-avl // 2) <= vl <= vlmax
            else:
                assert vl == vlmax
            assert gives_vlmax(avl, vlmax, policy) <= (vl == vlmax)
            if policy == "max":
                assert gives_vlmax(avl, vlmax, policy) == (vl == vlmax)


@pytest.mark.parametrize(
    ("fields", "avl"),
    [
        ({"rd": 0, "rs1": 5, "vtypei": 0}, Avl.REGISTER),
        ({"rd": 5, "rs1": 0, "vtypei": 0}, Avl.ALL),
        ({"rd": 0, "rs1": 0, "vtypei": 0}, Avl.KEEP),
        ({"rd": 0, "rs1": 0, "rs2": 7}, Avl.KEEP),
        ({"rd": 0, "uimm": 0, "vtypei": 0}, Avl.IMMEDIATE),
    ],
)
def test_where_the_avl_comes_from(fields: dict[str, int], avl: Avl) -> None:
    assert avl_of(fields) is avl
