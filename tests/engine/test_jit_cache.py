"""Compiled code from one run to the next: what is found again, and what isn't trusted."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import product
from pathlib import Path

import pytest

from rvsim.engine.block import Mode
from rvsim.engine.jit import compile as jit_compile
from rvsim.engine.jit.cache import RegionCache, open_cache, why_unusable
from rvsim.engine.jit.engine import Jit
from rvsim.engine.jit.region import CompiledRegion, Covered, mode_number
from rvsim.engine.traits import PLAIN
from rvsim.hart.memory import PAGE, R, W, X
from rvsim.host import cache_folder
from rvsim.vec.shapes import Known
from rvsim.vec.vtype import VType
from tests.cli.programs import elf, exit_with
from tests.program.bare import TEXT, Bare, Step, assemble, load_upper, step

BODY = [step("addi", rd=7, rs1=7, imm=3), step("xor", rd=6, rs1=6, rs2=7)]
OTHER = [step("addi", rd=7, rs1=7, imm=4), step("xor", rd=6, rs1=6, rs2=7)]
ROUNDS = 30
KNOWN: tuple[Known, ...] = ("full", "vl", "vstart")


def loop(body: list[Step], rounds: int = ROUNDS) -> bytes:
    """A loop that x8 counts down; its first block jumps over an instruction to `body`."""
    return assemble(
        [
            step("addi", rd=8, rs1=0, imm=rounds),
            step("jal", rd=0, imm=8),
            step("ebreak"),
            *body,
            step("addi", rd=8, rs1=8, imm=-1),
            step("bne", rs1=8, rs2=0, imm=-4 * (len(body) + 1)),
            step("ebreak"),
        ]
    )


def run(folder: Path | None, code: bytes = loop(BODY), **options: int) -> Jit:
    """Run, compiling all at once; the end must be that of the interpreter alone."""
    bare, alone = Bare(code, **options), Bare(code, **options)
    jit = bare.interp.jit = Jit(bare.interp, 1, cache=folder)
    assert bare.run(1000) == alone.run(1000)
    assert bare.snapshot() == alone.snapshot()
    return jit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "jit"


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def regions(folder: Path) -> list[Path]:
    """The files but for the way into native code."""
    return [path for path in files(folder) if not path.name.startswith("enter-")]


def test_a_second_machine_compiles_nothing(folder: Path) -> None:
    first, second = run(folder), run(folder)
    assert first.compiled > 0 == first.loaded
    assert second.loaded > 0 == second.compiled
    assert len(regions(folder)) == first.compiled
    assert len(files(folder)) == first.compiled + 1


def test_without_a_folder_nothing_is_kept() -> None:
    assert run(None).compiled == run(None).compiled > 0


def test_other_code_at_the_same_pc_is_compiled(folder: Path) -> None:
    first, other = run(folder), run(folder, loop(OTHER))
    assert other.compiled > 0
    again = run(folder), run(folder, loop(OTHER))
    assert [jit.compiled for jit in again] == [0, 0], "both stand in the cache"
    assert first.compiled + other.compiled == len(regions(folder))


def test_code_behind_an_equal_first_block_is_compared(folder: Path) -> None:
    """The entry, its first block and the file's folder are the same; the loop isn't."""
    cache, bare = open_cache(Bare(b"").config, folder), Bare(loop(BODY))
    assert cache is not None
    region = run(None).regions[0].region
    assert region.blocks[0].pc == TEXT
    cache.store("entry", "host", region)
    assert cache.load("entry", "host", bare.memory) == region
    assert cache.load("entry", "host", Bare(loop(OTHER)).memory) is None


def test_code_that_may_not_be_executed_any_more_is_not_found(folder: Path) -> None:
    region = run(None).regions[0].region
    bare = Bare(loop(BODY))
    assert region.is_for(bare.memory)
    bare.memory.protect(TEXT, PAGE, R | W)
    assert not region.is_for(bare.memory)
    bare.memory.unmap(TEXT, PAGE)
    assert not region.is_for(bare.memory)


def test_another_configuration_finds_nothing(folder: Path) -> None:
    config = Bare(b"").config
    run(folder)
    for other in (
        replace(config, vlen=512),
        replace(config, agnostic="ones"),
        replace(config, extensions=config.extensions - {"zvbb"}),
        replace(config, host_float=not config.host_float),
    ):
        assert run(folder, config=other).compiled > 0  # type: ignore[arg-type]
    assert run(folder).compiled == 0


def test_another_host_finds_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(folder)
    monkeypatch.setattr(jit_compile, "host_digest", lambda host: "another")
    assert run(folder).compiled > 0
    monkeypatch.undo()
    assert run(folder).compiled == 0


def test_a_store_over_loaded_code_is_seen_that_this_process_never_decoded(folder: Path) -> None:
    """In the fourth round of nine the last addi becomes another; it runs in the sixth."""
    patch = step("addi", rd=7, rs1=7, imm=200).word
    code = assemble(
        [
            load_upper(12, TEXT),
            step("lui", rd=13, uimm=(patch + 0x800) >> 12),
            step("addi", rd=13, rs1=13, imm=(patch & 0xFFF ^ 0x800) - 0x800),
            step("addi", rd=7, rs1=7, imm=1),
            step("addi", rd=8, rs1=8, imm=1),
            step("addi", rd=9, rs1=8, imm=-6),
            step("beq", rs1=9, rs2=0, imm=28),
            step("addi", rd=9, rs1=8, imm=-4),
            step("bne", rs1=9, rs2=0, imm=8),
            step("sw", rs1=12, rs2=13, imm=52),
            step("addi", rd=9, rs1=8, imm=-9),
            step("bne", rs1=9, rs2=0, imm=-44),
            step("ebreak"),
            step("addi", rd=7, rs1=7, imm=100),
            step("jal", rd=0, imm=-28),
        ]
    )
    run(folder, code, text_perm=R | W | X)
    again = run(folder, code, text_perm=R | W | X)
    assert again.loaded > 0
    assert again.interp.state.x[7] == 9 + 200


# -- damage


def test_a_file_with_one_bit_changed_anywhere_is_not_loaded(folder: Path) -> None:
    run(folder)
    memory = Bare(loop(BODY)).memory
    for path in files(folder):
        content = path.read_bytes()
        entry, host, _ = path.name.split("-")
        for bit in [*range(0, 8 * len(content), 97), 8 * len(content) - 1]:
            damaged = bytearray(content)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            cache = open_cache(Bare(b"").config, folder)
            assert cache is not None
            assert cache.has(entry)
            assert cache.load(entry, host, memory) is None
            assert not path.exists(), "it would be looked at in each run"


def test_damaged_files_are_compiled_anew(folder: Path) -> None:
    compiled = run(folder).compiled
    originals = {path: path.read_bytes() for path in files(folder)}
    rng = random.Random(1)
    for path, content in originals.items():
        damaged = bytearray(content)
        damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
    assert run(folder).compiled == compiled
    assert {path: path.read_bytes() for path in files(folder)} == originals


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 100, -1])
def test_a_truncated_file_is_compiled_anew(folder: Path, length: int) -> None:
    compiled = run(folder).compiled
    for path in files(folder):
        path.write_bytes(path.read_bytes()[:length])
    assert run(folder).compiled == compiled
    assert run(folder).compiled == 0


BLOCKS = [[TEXT, TEXT + 8, 0x8400, 2]]
DIGEST = "0" * 64
NO_REGIONS = {
    "nothing": b"",
    "no JSON": b"\4\0\0\0{{{{",
    "no text": b"\4\0\0\0\xff\xff\xff\xff",
    "other JSON": [1, 2, 3],
    "no list": [5, DIGEST],
    "no digest": [BLOCKS, 7],
    "a short digest": [BLOCKS, "12ab"],
    "a nested list": b"\xff\xff\0\0" + b"[" * 0xFFFF,
    "no number": [[[TEXT, "8", 0x8400, 2]], DIGEST],
    "a block of nothing": [[[TEXT, TEXT, 0x8400, 0]], DIGEST],
    "a block before memory": [[[-8, TEXT, 0x8400, 2]], DIGEST],
    "an endless block": [[[TEXT, 1 << 63, 0x8400, 2]], DIGEST],
    "no mode": [[[TEXT, TEXT + 8, 0xFFFF, 2]], DIGEST],
}


@pytest.mark.parametrize("what", NO_REGIONS)
def test_a_file_that_is_no_region_is_dropped_though_its_digest_is_right(
    folder: Path, what: str
) -> None:
    compiled = run(folder).compiled
    body = NO_REGIONS[what]
    if not isinstance(body, bytes):
        header = json.dumps(body).encode()
        body = len(header).to_bytes(4, "little") + header
    for path in files(folder):
        sign(path, body)
    assert run(folder).compiled == compiled
    assert run(folder).compiled == 0


@pytest.mark.parametrize("code", [b"", b"no object file", bytes(16), b"\x7fELF" + bytes(8)])
def test_a_region_without_an_object_file_is_dropped(folder: Path, code: bytes) -> None:
    compiled = run(folder).compiled
    for path in files(folder):
        region = CompiledRegion.from_bytes(path.read_bytes()[32:])
        sign(path, replace(region, code=code).to_bytes())
    assert run(folder).compiled == compiled
    assert run(folder).compiled == 0


@pytest.mark.parametrize("counts", [False, True])
def test_a_region_of_other_blocks_is_dropped(folder: Path, counts: bool) -> None:
    def jit() -> Jit:
        bare = Bare(loop(BODY))
        made = bare.interp.jit = Jit(bare.interp, 1, cache=folder, counts=counts)
        bare.run(1000)
        return made

    compiled = jit().compiled
    for path in regions(folder):
        region = CompiledRegion.from_bytes(path.read_bytes()[32:])
        first, *others = region.blocks
        is_first = path == regions(folder)[0]
        wrong = () if is_first else (first._replace(mode=0x8800), *others)
        sign(path, replace(region, blocks=wrong).to_bytes())
    assert jit().compiled == compiled
    assert jit().compiled == 0


def sign(path: Path, body: bytes) -> None:
    """Give a file another body, with the digest for that."""
    path.write_bytes(sha256(path.name.encode() + body).digest() + body)


def test_only_regular_files_are_opened(folder: Path, tmp_path: Path) -> None:
    run(folder)
    link, pipe = regions(folder)
    (tmp_path / "kept").write_bytes(link.read_bytes())
    for path in (link, pipe):
        path.unlink()
    link.symlink_to(tmp_path / "kept")
    os.mkfifo(pipe)
    assert run(folder).compiled == 2
    assert all(path.is_file() and not path.is_symlink() for path in (link, pipe))
    assert run(folder).compiled == 0


def test_a_folder_that_cannot_be_written_to_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(folder)
    before = {path: path.stat().st_mtime_ns for path in files(folder)}

    def refuse(*args: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for module, name in ((os, "utime"), (os, "unlink"), (os, "replace"), (tempfile, "mkstemp")):
        monkeypatch.setattr(module, name, refuse)
    assert run(folder).compiled == 0
    assert run(folder, loop(OTHER)).compiled > 0
    assert {path: path.stat().st_mtime_ns for path in files(folder)} == before


def test_a_file_is_good_under_its_own_name_only(folder: Path) -> None:
    run(folder)
    first, second = regions(folder)
    first.write_bytes(second.read_bytes())
    assert run(folder).compiled == 1


# -- whose folder


def test_the_folder_is_the_users_alone(folder: Path) -> None:
    run(folder)
    for path in (folder, *(p for p in folder.rglob("*") if p.is_dir())):
        assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_open_to_others_is_not_used(folder: Path, mode: int) -> None:
    run(folder)
    folder.chmod(mode)
    before = files(folder)
    jit = run(folder, loop(OTHER))
    assert (jit.loaded, files(folder)) == (0, before)
    assert why_unusable(folder) == f"{folder} is open to other users: chmod 700 it"


def test_a_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(folder)
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert run(folder).loaded == 0
    assert why_unusable(folder) == f"{folder} belongs to another user"


def test_a_link_or_a_file_in_the_place_of_the_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").write_bytes(b"")
    for name in ("link", "file"):
        assert run(tmp_path / name).compiled > 0
        assert why_unusable(tmp_path / name) is not None
    assert list((tmp_path / "real").iterdir()) == []


# -- room


def test_what_was_unused_for_longest_makes_room(folder: Path) -> None:
    config = Bare(b"").config
    cache = RegionCache(folder, config, "source", PLAIN, limit=100_000)
    folder.mkdir(mode=0o700)
    memory = Bare(loop(BODY)).memory
    region = replace(run(None).regions[0].region, code=bytes(10_000))
    names = [f"{number:x}" for number in range(9)]
    for age, name in enumerate(names):
        cache.store(name, "host", region)
        (path,) = folder.rglob(f"{name}-host-*")
        os.utime(path, (age, age))
    assert cache.load("0", "host", memory) is not None, "from now on the last one used"
    cache.store("9", "host", region)
    there = {path.name.partition("-")[0] for path in files(folder)}
    assert {"0", "8", "9"} <= there
    assert there.isdisjoint({"1", "2"})
    assert sum(path.stat().st_size for path in files(folder)) <= 75_000


def test_a_full_disk_costs_nothing_but_the_cache(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert run(folder).compiled > 0
    assert files(folder) == []


# -- the same code again


def test_code_that_a_flush_left_alone_is_not_compiled_again() -> None:
    bare = Bare(loop([*BODY, step("fence.i", imm=0, rs1=0, rd=0)]), text_perm=R | W | X)
    jit = bare.interp.jit = Jit(bare.interp, 1)
    bare.run(1000)
    assert jit.compiled == 2, "what comes before fence.i, and behind it"


# -- what identifies


def test_mode_numbers_are_distinct_16_bit_numbers_and_never_0() -> None:
    vtypes = [None, *(v for bits in range(256) if (v := VType.decode(bits)) is not None)]
    modes = [Mode(*choice) for choice in product(vtypes, KNOWN, range(4))]
    numbers = {mode_number(mode) for mode in modes}
    assert len(numbers) == len(modes)
    assert 0 < min(numbers) <= max(numbers) < 1 << 16


def test_the_source_digest_covers_all_that_generates_code() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys\n"
         "from rvsim.engine.jit import compile, engine, lower\n"
         "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'rvsim'))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {str(Path(name).resolve()) for name in done.stdout.split()}
    covered = {
        str(Path(name).resolve())
        for name in cache_folder._sources(str(Path(cache_folder.__file__).parents[1]))
    }
    assert loaded <= covered


@pytest.fixture
def fresh_digest() -> Iterator[None]:
    cache_folder.source_digest.cache_clear()
    yield
    cache_folder.source_digest.cache_clear()


@pytest.mark.usefixtures("fresh_digest")
def test_source_that_changed_after_its_import_keeps_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_folder.source_digest() is not None
    cache_folder.source_digest.cache_clear()
    monkeypatch.setattr(cache_folder, "_LOADED_AT", Path(cache_folder.__file__).stat().st_mtime - 1)
    assert cache_folder.source_digest() is None
    assert run(folder).compiled > 0
    assert files(folder) == []


def test_a_region_is_the_same_read_back() -> None:
    region = CompiledRegion(
        (Covered(TEXT, TEXT + 8, 0x8400, 2), Covered(0, 4, 0x8800, 1)), "12ab" * 16, b"\0\xff"
    )
    assert CompiledRegion.from_bytes(region.to_bytes()) == region


# -- whole processes

COUNT = """
import sys
from pathlib import Path
from rvsim.machine import Machine
machine = Machine("generic-rv64gcv", engine="jit")
machine.interp.jit.threshold = 1
machine.load(Path(sys.argv[1]).read_bytes())
assert machine.run().exit_code == 0
print(machine.interp.jit.compiled, machine.interp.jit.loaded, "llvmlite" in sys.modules)
"""


def test_processes_share_what_they_compile(folder: Path, tmp_path: Path) -> None:
    steps = [
        step("addi", rd=8, rs1=0, imm=100),
        *BODY,
        step("addi", rd=8, rs1=8, imm=-1),
        step("bne", rs1=8, rs2=0, imm=-12),
    ]
    file = tmp_path / "loop.elf"
    file.write_bytes(elf([*steps, *exit_with(0)]))

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", COUNT, file],
            env={**os.environ, "RVSIM_JIT_CACHE_DIR": str(folder)},
            stdout=subprocess.PIPE,
            text=True,
        )

    for process in [start() for _ in range(3)]:
        process.communicate()
        assert process.returncode == 0
    compiled, loaded, _ = start().communicate()[0].split()
    assert int(compiled) == 0 < int(loaded)
    assert not [path for path in files(folder) if path.name.startswith(".")]


def test_a_short_run_does_not_import_llvm(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "short.elf"
    file.write_bytes(elf([*BODY, *exit_with(0)]))
    done = subprocess.run(
        [sys.executable, "-c", COUNT.replace("threshold = 1", "threshold = 2000"), file],
        env={**os.environ, "RVSIM_JIT_CACHE_DIR": str(folder)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["0", "0", "False"]
