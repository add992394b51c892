"""Addresses that wrap around, or that only another check seemed to cover, on both engines.

The first page of the guest's memory is mapped here, so that an address of which only the low bits
count finds something.  Where a check fails to be made, what is read or written is the guest's own
page without permissions, not the host's memory: `FORBIDDEN`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rvsim.engine.block import Mode
from rvsim.engine.jit.engine import Jit
from rvsim.engine.jit.region import mode_number
from rvsim.hart.memory import PAGE, R, W
from rvsim.profiles import make_config
from rvsim.vec.vtype import VType
from tests.program.address_programs import compare
from tests.program.bare import DATA, DATA_SIZE, TEXT, Bare, Step, assemble, step
from tests.program.test_jit_memory import TOP, Pair, access

pytestmark = pytest.mark.compiled

M64 = (1 << 64) - 1
FORBIDDEN = DATA + DATA_SIZE
E64 = VType.parse("e64,m1,tu,mu")
LANES = {
    "the sum of highest and size wraps": (0, M64, FORBIDDEN, 8),
    "all of the low page but one": (0, M64 - 6, 8, FORBIDDEN),
    "one at the end of the address space": (8, 16, 24, M64 - 7),
    "one that ends in the first page": (8, 16, 24, M64 - 3),
    "after the memory": (0, 8, TOP, 16),
    "half after the memory": (TOP - 8, TOP - 16, TOP - 4, TOP - 24),
    "sign of 63 bits": (0, 1 << 63, 8, 16),
    "last of all": (M64, M64, M64, M64),
}


class WithFirstPage(Pair):
    """A pair of machines that have a page at address 0."""

    def __init__(self, body: list[Step], vtype: VType = E64) -> None:
        super().__init__(body, vtype)
        for bare in (self.reference, self.compiled):
            bare.memory.map(0, PAGE, R | W)

    def assert_same_first_pages(self, x: dict[int, int], v: dict[int, bytes] | None = None) -> None:
        for bare in (self.reference, self.compiled):
            bare.memory.write(0, bytes(PAGE))
        self.assert_same(x, v)
        first, second = (b.memory.read(0, PAGE) for b in (self.reference, self.compiled))
        assert first == second
        for bare in (self.reference, self.compiled):
            assert not any(bare.memory.view[FORBIDDEN : FORBIDDEN + PAGE])


def warm(pair: WithFirstPage, v: dict[int, bytes] | None = None) -> None:
    """Have the loop compiled, by a run in which every address is a good one."""
    pair.assert_same({9: DATA + 64, 11: 4, 12: 8}, v)
    assert pair.entries


def packed(lanes: Sequence[int], nbytes: int = 8) -> bytes:
    return b"".join(lane.to_bytes(nbytes, "little") for lane in lanes)


GOOD = {8: packed([0, 8, 16, 24])}


@pytest.mark.parametrize("name", ["vluxei64.v", "vloxei64.v", "vsuxei64.v", "vsoxei64.v"])
@pytest.mark.parametrize("masked", [False, True])
def test_lanes_of_which_the_highest_wraps(name: str, masked: bool) -> None:
    pair = WithFirstPage([access(name, vs2=8, vm=int(not masked))])
    mask = {0: b"\x0f" + bytes(31)} if masked else {}
    warm(pair, GOOD | mask)
    for lanes in LANES.values():
        for order in (lanes, lanes[::-1]):
            pair.assert_same_first_pages({9: 0, 11: 4}, {8: packed(order)} | mask)
            assert pair.reference.state.x[8], "no lane trapped"


INDEXED = ("vluxseg2ei64.v", "vsoxseg2ei64.v", "vluxei64.v", "vsuxei64.v")
LANE_SIZES = [
    *((name, vtype) for name in INDEXED for vtype in ("e8,mf2", "e16,m1", "e32,m1", "e64,m1")),
    *((name, "e64,m2") for name in INDEXED if "seg" not in name),
]
"""Forms and types of which no register group is too large, also with indices of 64 bits."""


@pytest.mark.parametrize(("name", "vtype"), LANE_SIZES)
def test_lanes_of_every_size(name: str, vtype: str) -> None:
    parsed = VType.parse(f"{vtype},tu,mu")
    n = parsed.vlmax(256)
    pair = WithFirstPage([access(name, vs2=16)], parsed)
    good = packed([16 * i for i in range(n)])
    pair.assert_same({9: DATA, 11: n}, {16: good})
    rng = random.Random(name + vtype)
    for bad in (M64, M64 - 1, M64 - parsed.sew // 8, M64 - parsed.sew // 8 + 1, 1 << 63, TOP - 1):
        lanes = [16 * i for i in range(n)]
        lanes[rng.randrange(n)] = bad
        lanes[rng.randrange(n)] = FORBIDDEN
        pair.assert_same_first_pages({9: 0, 11: n}, {16: packed(lanes)})
        assert pair.reference.state.x[8], "no lane trapped"


@pytest.mark.parametrize("name", ["vlse64.v", "vsse64.v", "vlsseg2e64.v", "vssseg2e64.v"])
def test_strides_over_the_end_of_the_address_space(name: str) -> None:
    pair = WithFirstPage([access(name, rs2=12)])
    warm(pair)
    for base, stride in (
        (0, -8), (0, M64 // 2 + 1), (8, 1 << 62), (M64 - 15, 16), (M64 - 7, 8), (M64, 1),
        (M64 - 7, 8 + FORBIDDEN), (16, -8), (TOP - 8, 8), (TOP - 4, -8), (1 << 63, 1 << 63),
    ):  # fmt: skip
        pair.assert_same_first_pages({9: base, 11: 4, 12: stride})


@pytest.mark.parametrize(
    "name",
    ["vle64.v", "vse64.v", "vle64ff.v", "vlseg2e64.v", "vsseg4e64.v", "vl2re8.v", "vs4r.v",
     "vlm.v", "vsm.v"],
)  # fmt: skip
def test_runs_over_the_end_of_the_address_space(name: str) -> None:
    pair = WithFirstPage([access(name)])
    warm(pair)
    for base in (M64, M64 - 7, M64 - 15, M64 - 31, M64 - 63, M64 - PAGE, TOP, TOP - 8, TOP - 31):
        for vl in (0, 1, 2, 4):
            pair.assert_same_first_pages({9: base, 11: vl})


@pytest.mark.parametrize("name", ["vle8.v", "vse8.v", "vluxei64.v", "vsuxei64.v", "vlse64.v"])
def test_wide_groups_at_the_ends(name: str) -> None:
    """Groups that are gone through in strips."""
    wide = VType.parse("e64,m8,tu,mu" if "64" in name else "e8,m8,tu,mu")
    n = wide.vlmax(256)
    more = {"vs2": 16} if "ei" in name else {"rs2": 12} if name == "vlse64.v" else {}
    data = "vs3" if name.startswith("vs") else "vd"
    pair = WithFirstPage([access(name, **{data: 8, **more})], wide)
    lanes = [8 * i for i in range(32)]
    pair.assert_same({9: DATA, 11: n, 12: 8}, {16: packed(lanes)})
    lanes[16], lanes[29] = M64, FORBIDDEN
    for base in (0, M64, M64 - 7, TOP - 8, TOP - PAGE):
        for vl in (n, n - 1, 1):
            pair.assert_same_first_pages({9: base, 11: vl, 12: -8}, {16: packed(lanes)})


@pytest.mark.parametrize("name", ["amoadd.w", "amoswap.d", "lr.w", "lr.d", "sc.d", "cbo.zero"])
def test_atomics_and_blocks_at_the_ends(name: str) -> None:
    config = make_config("generic-rv64gcv", vlen=256)
    config = replace(config, extensions=config.extensions | {"zicboz"})
    fields = {"rs1": 9} if name == "cbo.zero" else {"rd": 6, "rs1": 9, "aq": 0, "rl": 0}
    fields |= {} if name.startswith(("lr", "cbo")) else {"rs2": 7}
    pair = WithFirstPage([step(name, **fields)])
    warm(pair)
    for addr in (M64, M64 - 7, M64 - 3, M64 - 63, TOP, TOP - 4, TOP - 8, FORBIDDEN, 0, 1 << 63):
        pair.assert_same_first_pages({9: addr, 11: 1})


@pytest.mark.parametrize("offset", [0, 4, 8, -4])
def test_a_store_under_a_condition_vouches_for_no_other(offset: int) -> None:
    """sc.w without a reservation stores nothing, and so has checked nothing."""
    store = step("sw", rs1=9, rs2=7, imm=offset)
    sc = step("sc.w", rd=6, rs1=9, rs2=7, aq=0, rl=0)
    for body in ([sc, store], [store, sc], [sc, store, sc, store]):
        pair = WithFirstPage(body)
        pair.assert_same_first_pages({9: DATA + 64, 7: 0x55, 11: 1})
        for addr in (FORBIDDEN + 16, FORBIDDEN + 64, TOP + 64, 1 << 40, M64 - 63):
            pair.assert_same_first_pages({9: addr, 7: 0x55, 11: 1})
            assert pair.reference.state.x[8], "the store did not trap"


def test_scalar_accesses_that_share_a_check_over_the_ends() -> None:
    """Offsets of one base on both sides of address 0."""
    body = [step("ld", rd=6, rs1=9, imm=8), step("ld", rd=7, rs1=9, imm=-8),
            step("sd", rs1=9, rs2=6, imm=16), step("sd", rs1=9, rs2=6, imm=-16)]  # fmt: skip
    pair = WithFirstPage(body)
    warm(pair)
    for base in (0, 8, 16, 24, M64 - 7, M64 - 15, M64 - 23, TOP, TOP - 16, TOP - 24, TOP - 8):
        pair.assert_same_first_pages({9: base, 11: 1})


def test_a_pc_finds_no_region_of_another_address() -> None:
    """The table of regions has the mode where such a pc has its highest bits."""
    code = assemble([step("addi", rd=5, rs1=5, imm=1), step("jalr", rd=0, rs1=9, imm=0)])
    mode = mode_number(Mode(None, "vl"))
    for high in (mode, 1 << 15, 1, mode & ~0x400, 0xFFFF):
        ends = []
        for compiled in (False, True):
            bare = Bare(code)
            if compiled:
                bare.interp.jit = Jit(bare.interp, 1)
            bare.state.x[9] = TEXT
            assert bare.run(40) is None
            bare.state.x[9], bare.state["pc"] = TEXT | high << 48, TEXT
            ends.append((bare.run(40), *bare.snapshot()))
        assert ends[0] == ends[1]
        assert ends[0][0] is not None
        assert ends[0][0].tval == TEXT | high << 48


@pytest.mark.parametrize("part", range(3))
def test_random_programs_at_hostile_addresses(part: int) -> None:
    for seed in range(10 * part, 10 * part + 10):
        compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_random_programs_at_hostile_addresses_at_length(part: int) -> None:
    for seed in range(10_000 + 100 * part, 10_100 + 100 * part):
        compare(seed)
