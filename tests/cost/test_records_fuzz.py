"""Records of random programs: both engines make the same, and they add up to what was charged.

Programs are random bytes in a loop, from a random state, that go on behind each trap; and loops of
legal vector and scalar instructions.  What was accessed is compared with the accesses themselves.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from rvsim.config import Config
from rvsim.cost import REASONS, CostModel, load_core
from rvsim.cost.batch import Batch
from rvsim.cost.formula import CYCLE
from rvsim.engine.interp import Interpreter
from rvsim.engine.jit.engine import Jit
from rvsim.engine.observer import Batches
from rvsim.hart.memory import R, X
from rvsim.insn.decode import Decoded
from rvsim.machine import Machine
from rvsim.trace.events import Event, EventKind, Recorder
from tests.cost.test_records import assert_equal
from tests.program import vector_programs as vp
from tests.program.bare import TEXT, Bare, assemble, step
from tests.program.elf_writer import write_elf
from tests.program.structured_programs import Generator
from tests.program.test_fuzz import fuzz_all
from tests.program.test_jit_fuzz import machine, traps
from tests.program.test_jit_programs import MACHINES

pytestmark = pytest.mark.compiled

CORE = load_core("x60")
LIMIT = 20_000


class Costed(Bare):
    """A hart with a cost model, whose records are kept."""

    def __init__(
        self,
        code: bytes,
        config: Config | None = None,
        *,
        text_perm: int = R | X,
        memory_size: int = 1 << 20,
    ) -> None:
        super().__init__(code, config, text_perm=text_perm, memory_size=memory_size)
        self.cost = CostModel(CORE)
        self.state = self.cost.make_state(self.config.vlen, records=True)
        self.state["vtype"] = 1 << 63
        self.state["pc"] = TEXT
        self.batches: list[Batch] = []
        self.ring = self.cost.make_ring(self.batches.append, 0)
        self.image = None  # as of a `Machine` that has no symbols
        self.listen(None)

    def listen(self, recorder: Recorder | None) -> None:
        self.interp = Interpreter(
            self.config, self.state, self.memory, cost=self.cost, observer=recorder
        )
        self.interp.begin_anew(self.ring, None)


def went_on(seed: int, prepare: Callable[[Costed], None]) -> Costed:
    """The hart of a seed, behind its last trap."""
    bare, rng, start, size = machine(seed, Costed)
    assert isinstance(bare, Costed)
    prepare(bare)
    for _ in traps(bare, rng, start, size):
        bare.ring.flush()
    return bare


def compile_all(bare: Costed) -> None:
    bare.interp.jit = Jit(bare.interp, threshold=1)


def compare_bytes(seed: int) -> None:
    """Random bytes, on both engines."""
    reference, got = went_on(seed, lambda bare: None), went_on(seed, compile_all)
    assert_equal(got.batches, reference.batches)
    for bare in (reference, got):
        assert_consistent(bare.batches, bare.cost)


def assert_consistent(batches: Sequence[Batch], cost: CostModel) -> None:
    """Rows follow each other without a gap, and by place and reason add up to the counters."""
    charged: Counter[tuple[int, str]] = Counter()
    end = retired = 0
    for batch in batches:
        rows, pcs = batch.rows, np.array([d.pc for d in batch.code], np.uint64)
        own = pcs[rows["code"]]
        before = rows["issue"] - rows["fetch"] - rows["slot"] - rows["wait"]
        ends = rows["issue"] + rows["lost"]
        assert before.tolist() == [end, *ends[:-1].tolist()]
        assert (rows["issue"] <= rows["start"]).all()
        assert (rows["start"] <= rows["done"]).all()
        counts = np.cumsum(~rows["trapped"])
        assert rows["instret"].tolist() == (retired + counts - ~rows["trapped"]).tolist()
        end, retired = int(ends[-1]), retired + int(counts[-1])
        nothing = np.zeros_like(rows["reason"])
        for cycles, places, reasons in (
            ("fetch", own, nothing + REASONS.index("fetch")),
            ("slot", own, nothing + REASONS.index("issue")),
            ("wait", rows["charged"], rows["reason"]),
            ("lost", own, rows["lost_reason"]),
        ):
            for amount, pc, why in zip(
                rows[cycles].tolist(), places.tolist(), reasons.tolist(), strict=True
            ):
                charged[pc, REASONS[why]] += amount
    counters = {(pc, why): n * CYCLE for pc, of in cost.sites() for why, n in of.items()}
    assert {key: n for key, n in charged.items() if n} == counters


def compare_accesses(seed: int) -> None:
    """Random bytes, on the reference engine, beside the events of the same run."""
    heard: list[tuple[int, int, int]] = []

    def consume(d: Decoded | None, events: Sequence[Event]) -> None:
        if d is None or any(e.kind == EventKind.TRAP for e in events):
            return
        reads = [e for e in events if e.kind == EventKind.READ]
        accesses = reads or [e for e in events if e.kind == EventKind.WRITE]
        lowest = min((e.addr for e in accesses), default=0)
        heard.append((d.pc, lowest, sum(e.size for e in accesses)))

    recorder = Recorder([consume])
    bare = went_on(seed, lambda bare: bare.listen(recorder))
    told = [
        (batch.code[code].pc, addr, size)
        for batch in bare.batches
        for code, addr, size in batch.rows[~batch.rows["trapped"]][
            ["code", "addr", "size"]
        ].tolist()
    ]
    assert told == heard


def compare_loop(seed: int) -> None:
    """A loop of legal instructions, of which only the loop is compiled."""
    options = MACHINES[seed % len(MACHINES)]
    found = []
    for compiled in (False, True):
        batches: list[Batch] = []
        hart = Machine(engine="numpy", cost="x60", observers=[Batches(batches.append)], **options)  # type: ignore[arg-type]
        before = list(vp.prologue(hart.config))
        hart.load(loop(hart.config, seed, before))
        hart.run(max_insns=len(before))
        if compiled:
            hart.interp.jit = Jit(hart.interp, threshold=1)
        result = hart.run(max_insns=LIMIT)
        assert not compiled or hart.interp.jit.regions  # type: ignore[union-attr]
        assert sum(int((~b.rows["trapped"]).sum()) for b in batches) == result.instret
        assert hart.cost is not None
        assert_consistent(batches, hart.cost)
        found.append(batches)
    assert_equal(found[1], found[0])


def loop(config: Config, seed: int, before: Sequence[vp.Step]) -> bytes:
    rng = random.Random(f"loop {seed}")
    make = Generator(rng, config)
    leaves = [make.leaf() for _ in range(rng.randint(1, 2))]
    pieces = [leaf if rng.random() < 0.6 else make.skipped(leaf) for leaf in leaves]
    body = make.countdown(tuple(s for piece in pieces for s in piece))
    text = assemble([*before, *body, step("ebreak")])
    return write_elf(text, vp.initial_data(rng, config), text_addr=vp.TEXT, data_addr=vp.DATA)


@pytest.mark.parametrize("part", range(2))
def test_engines_make_the_same_records(part: int) -> None:
    fuzz_all(range(20 * part, 20 * part + 20), compare_bytes)


def test_the_same_of_legal_loops() -> None:
    fuzz_all(range(4), compare_loop)


def test_records_tell_what_was_accessed() -> None:
    fuzz_all(range(700, 850), compare_accesses)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_engines_make_the_same_records_at_length(part: int) -> None:
    fuzz_all(range(10_000 + 100 * part, 10_100 + 100 * part), compare_bytes)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_the_same_of_many_legal_loops(part: int) -> None:
    fuzz_all(range(1000 + 20 * part, 1020 + 20 * part), compare_loop)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_many_records_tell_what_was_accessed(part: int) -> None:
    fuzz_all(range(20_000 + 1000 * part, 21_000 + 1000 * part), compare_accesses)
