"""Random bytes in a loop, on both engines with all of it compiled: they stop in the same states.

A program of the plain run is a few random parcels and a jump back, from a random state that a
program can bring about.  Where it traps it goes on behind the instruction, as under a debugger.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from rvsim.engine.jit.engine import Jit
from rvsim.hart.memory import PAGE, R, W, X
from rvsim.hart.traps import Trap
from rvsim.profiles import make_config
from rvsim.vec.vtype import VType
from tests.program.bare import DATA, DATA_SIZE, TEXT, Bare, step
from tests.program.test_fuzz import VTYPES, fuzz_all, random_address, random_code

pytestmark = pytest.mark.compiled

CONFIGS = (
    make_config("spacemit-x60"),
    make_config("spacemit-x60", agnostic="ones"),
    make_config("generic-rv64gcv", vlen=128, reserved="allow"),
    make_config("generic-rv64gcv", vlen=128, agnostic="random:1"),
    make_config("generic-rv64gcv", vlen=512, agnostic="ones", vl_policy="half"),
)
LIMIT = 120
MOST_STOPS = 6

Stop = tuple[Trap | None, bytes, bytes, bytes]
"""A trap or the limit; the state, data and code then."""


def looping_code(rng: random.Random) -> bytes:
    """Random parcels, and now and then other ones, with a jump back behind them."""
    code = random_code(rng)
    return code + step("jal", rd=0, imm=-len(code)).code


def fill_state(rng: random.Random, bare: Bare) -> None:
    """A state that some program leads to."""
    state = bare.state
    for number in range(1, 32):
        state.x[number] = random_address(rng) if rng.random() < 0.7 else rng.getrandbits(64)
        state.f[number] = rng.getrandbits(64) | (-1 << 32 if rng.random() < 0.5 else 0) & M64
    state.vfile[:] = memoryview(rng.randbytes(state.vfile.size))
    vtype = VType.decode(rng.choice(VTYPES))
    assert vtype is not None
    if rng.random() < 0.9:
        state["vtype"] = vtype.encode()
        vlmax = vtype.vlmax(bare.config.vlen)
        state["vl"] = rng.choice((0, 1, vlmax, vlmax, rng.randint(0, vlmax), rng.randint(0, vlmax)))
        state["vstart"] = rng.choice((0,) * 9 + (rng.randrange(vlmax),))
    for name, values in (("vxrm", 4), ("vxsat", 2), ("frm", 8), ("fflags", 32)):
        state[name] = rng.randrange(values) if rng.random() < 0.5 else 0


M64 = (1 << 64) - 1


def machine(seed: int, make: type[Bare] = Bare) -> tuple[Bare, random.Random, int, int]:
    rng = random.Random(seed)
    code = looping_code(rng)
    writable = rng.random() < 0.2
    bare = make(bytes(PAGE), rng.choice(CONFIGS), text_perm=R | X | (W if writable else 0))
    start = TEXT if rng.random() < 0.7 else TEXT + PAGE - len(code)
    bare.memory.write(start, code)
    bare.memory.write(DATA, rng.randbytes(DATA_SIZE))
    fill_state(rng, bare)
    bare.state["pc"] = start
    return bare, rng, start, len(code)


def traps(bare: Bare, rng: random.Random, start: int, size: int) -> Iterator[Trap | None]:
    """Runs a machine, and goes on behind each trap; None is the limit."""
    for _ in range(MOST_STOPS):
        trap = bare.run(LIMIT - bare.state["instret"])
        yield trap
        if trap is None:
            return
        behind = trap.pc + 4
        if not start <= behind < start + size:
            behind = start + 2 * rng.randrange(size // 2)
        bare.state["pc"] = behind


def stops(seed: int, *, compiled: bool) -> Iterator[Stop]:
    """Where the program of a seed stops, one after the other."""
    bare, rng, start, size = machine(seed)
    if compiled:
        bare.interp.jit = Jit(bare.interp, threshold=1)
    for trap in traps(bare, rng, start, size):
        yield trap, *bare.snapshot(), bare.memory.read(TEXT, PAGE)


def compare(seed: int) -> None:
    pairs = zip(stops(seed, compiled=False), stops(seed, compiled=True), strict=True)
    for number, (expected, got) in enumerate(pairs):
        assert got == expected, f"stop {number}"


@pytest.mark.parametrize("part", range(10))
def test_engines_stop_in_the_same_states(part: int) -> None:
    fuzz_all(range(500 * part, 500 * part + 500), compare)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(100))
def test_engines_stop_in_the_same_states_at_length(part: int) -> None:
    first = 1_000_000 + 1000 * part
    fuzz_all(range(first, first + 1000), compare)
