"""No file costs much before its first instruction or after its last, and none ends in an error of
rvsim's own: it runs, or one line says what is wrong with it."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
from contextlib import redirect_stderr, redirect_stdout
from itertools import islice
from pathlib import Path

import pytest

from rvsim import cli
from rvsim.guest.elf import ElfError
from rvsim.machine import Machine
from tests.program.bare import assemble, step
from tests.program.dwarf_writer import (
    ABBREV,
    COPY,
    END_SEQUENCE,
    NEW_TABLES,
    info_unit,
    line_unit,
    set_address,
    special,
)
from tests.program.elf_files import (
    ALLOC,
    ATTRIBUTES,
    COMPRESSED,
    EXECINSTR,
    STRTAB,
    SYMTAB,
    TEXT,
    ZSTD,
    R,
    Section,
    Segment,
    W,
    attributes,
    compressed,
    elf_file,
    symbol,
)
from tests.program.hostile_elves import BOMBS, MAY_RUN, mutations
from tests.work import at_most

QUICK = [
    "a row a byte, a gigabyte",
    "no size",
    "long numbers",
    "forms that name forms",
    "sections",
    "sections of no size",
    "as many sections as fit 16 bits",
    "attributes",
    "notes",
    "the whole memory, over and over",
]
MANY_CALLS, MUCH_MEMORY = 20_000_000, 200 << 20
"""Of functions, half as many again as the most costly one makes; bytes."""


def check(what: str) -> None:
    content = BOMBS[what]()
    notes: list[str] = []
    machine = Machine(note=notes.append, engine="numpy")
    with at_most(MANY_CALLS):
        if what in MAY_RUN:
            machine.load(content)
            assert machine.run(max_insns=1000).exit_code == 0
            assert machine.place(TEXT).startswith("0x10000")
        else:
            with pytest.raises(ElfError):
                machine.load(content)


@pytest.mark.parametrize("what", QUICK)
def test_a_file_costs_little(what: str) -> None:
    check(what)


@pytest.mark.slow
@pytest.mark.parametrize("what", BOMBS)
def test_a_file_costs_little_memory(what: str) -> None:
    content = BOMBS[what]()
    machine = Machine(engine="numpy")
    tracemalloc.start()
    try:
        machine.load(content)
        machine.place(TEXT)
    except ElfError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < MUCH_MEMORY
    check(what)


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("a row a byte", "1,000,000 line operations"),
        ("a row a byte, a gigabyte", "64 MiB once expanded"),
        ("forms that name forms", "150,000 fields"),
    ],
)
def test_a_place_says_why_its_line_is_unknown(what: str, why: str) -> None:
    machine = Machine(engine="numpy")
    machine.load(BOMBS[what]())
    assert machine.place(TEXT) == f"0x10000 (file:line unknown: debug info larger than {why})"


def test_a_place_says_that_its_lines_are_compressed_by_zstd() -> None:
    section = struct.pack("<IIQQ", ZSTD, 0, 100, 1) + b"\x28\xb5\x2f\xfd"
    debug = [Section(".debug_info", info_unit(5)), Section(".debug_abbrev", ABBREV)]
    line = Section(".debug_line", section, flags=COMPRESSED)
    machine = Machine(engine="numpy")
    machine.load(elf_file([Segment(TEXT, bytes(8))], [*debug, line]))
    why = "debug info compressed other than by zlib: .debug_line"
    assert machine.place(TEXT) == f"0x10000 (file:line unknown: {why})"


def test_a_note_says_why_names_are_unknown() -> None:
    notes: list[str] = []
    Machine(note=notes.append).load(BOMBS["symbols"]())
    assert notes == ["names of addresses unknown: a symbol table of more than 300,000 entries"]


def whole_file() -> bytes:
    """A program with a table of each kind that rvsim reads."""
    code = assemble(
        [
            step("addi", rd=10, rs1=0, imm=0),
            step("addi", rd=17, rs1=0, imm=93),
            step("ebreak"),
            step("ecall"),
        ]
    )
    rows = set_address(TEXT) + bytes([COPY]) + special(2, 1) * 3 + END_SEQUENCE
    line = compressed(line_unit(5, NEW_TABLES, rows))
    return elf_file(
        [Segment(TEXT, code), Segment(0x20000, b"data", R | W, size=5000)],
        [
            Section(".text", code, flags=ALLOC | EXECINSTR, addr=TEXT),
            Section(".symtab", bytes(24) + symbol(1, TEXT, 8, 1), SYMTAB, link=3),
            Section(".strtab", b"\0main\0", STRTAB),
            Section(".debug_info", info_unit(5)),
            Section(".debug_abbrev", ABBREV),
            Section(".debug_line", line, flags=COMPRESSED),
            Section(".riscv.attributes", attributes("rv64i2p1_zvl4096b1p0"), ATTRIBUTES),
        ],
    )


def ends(*arguments: str) -> tuple[int, str]:
    """The exit code of a command line in this process, and its stderr."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = cli.run(list(arguments))
    assert isinstance(err.buffer, io.BytesIO)
    return code, err.buffer.getvalue().decode("utf-8")


def check_file(path: Path) -> None:
    """A file runs to its end, a trap or the limit, or is refused in one line."""
    for command, *options in (["run", "--max-insns", "200", "--memory", "64M"], ["dis"]):
        code, err = ends(command, str(path), *options)
        assert code not in (1, 125), err
        assert "internal error" not in err
        if code == 2:
            assert err.count("\n") <= 2, err
            assert err.startswith(("rvsim: ", "rvsim: note: "))


def check_mutations(content: bytes, folder: Path, count: int, seed: int) -> None:
    path = folder / "mutated.elf"
    rng = random.Random(seed)
    for mutated in islice(mutations(content, rng.randrange), count):
        path.write_bytes(mutated)
        check_file(path)


def test_a_mutated_file_runs_or_is_refused(tmp_path: Path) -> None:
    check_mutations(whole_file(), tmp_path, 200, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_mutated_files_run_or_are_refused(tmp_path: Path, seed: int) -> None:
    check_mutations(whole_file(), tmp_path, 2500, seed=100 + seed)


def test_a_device_is_no_elf_file() -> None:
    assert ends("run", "/dev/zero") == (2, "rvsim: /dev/zero: not an ELF file\n")
