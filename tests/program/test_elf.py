"""ELF loading: what goes where, which files are refused, and what damage costs."""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rvsim.guest.elf import PIE_BASE, ElfError, Image, load_elf
from rvsim.hart.memory import MAPPED, PAGE, Memory, R, W, X
from rvsim.machine import Machine

SIZE = 32 << 20
SOURCE = """
volatile unsigned long tohost;
int bss_words[3000];
int data_word = 0x11223344;
const char text[] = "constant";

__attribute__((noinline)) int twice(int a) {
  return 2 *
         a + data_word;
}

__asm__(".globl inner\\n"
        ".type wrapper, @function\\nwrapper: nop\\ninner: nop\\n.size wrapper, . - wrapper\\n");

void _start(void) {
  bss_words[1] = twice(text[1]);
  for (;;) tohost = 1;
}
"""


def compile_elf(folder: Path, name: str, *options: str, target: str = "riscv64") -> bytes:
    source = folder / "prog.c"
    source.write_text(SOURCE)
    command = f"-m ziglang cc -target {target}-freestanding -O1 -nostdlib -static prog.c -o {name}"
    subprocess.run(
        [sys.executable, *command.split(), *options],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return (folder / name).read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elf")


@pytest.fixture(scope="module")
def static(folder: Path) -> bytes:
    return compile_elf(folder, "static.elf", "-g", "-gdwarf-4", "-mcpu=spacemit_x60")


@pytest.fixture(scope="module")
def dwarf5(folder: Path) -> bytes:
    return compile_elf(folder, "dwarf5.elf", "-g", "-gdwarf-5")


@pytest.fixture(scope="module")
def pie(folder: Path) -> bytes:
    return compile_elf(folder, "pie.elf", "-g", "-fPIE", "-static-pie")


def poke(elf: bytes, offset: int, layout: str, value: int) -> bytes:
    damaged = bytearray(elf)
    struct.pack_into(layout, damaged, offset, value)
    return bytes(damaged)


def program_header(elf: bytes, wanted: int) -> int:
    """File offset of the first program header of a type."""
    phoff, number = struct.unpack_from("<Q", elf, 32)[0], struct.unpack_from("<H", elf, 56)[0]
    offsets = (phoff + 56 * i for i in range(number))
    return next(o for o in offsets if struct.unpack_from("<I", elf, o)[0] == wanted)


def section(elf: bytes, name: str) -> tuple[int, int, int]:
    """Of the section with a name: file offsets of its header and of its content, and its size."""
    table, (number, names) = (
        struct.unpack_from("<Q", elf, 40)[0],
        struct.unpack_from("<2H", elf, 60),
    )
    text = struct.unpack_from("<Q", elf, table + 64 * names + 24)[0]
    for header in range(table, table + 64 * number, 64):
        start = text + struct.unpack_from("<I", elf, header)[0]
        if elf[start : elf.index(0, start)] == name.encode():
            return header, *struct.unpack_from("<2Q", elf, header + 24)
    raise LookupError(name)


def source_line(text: str) -> int:
    return next(i for i, line in enumerate(SOURCE.splitlines(), 1) if text in line)


def refused(elf: bytes) -> str:
    """The text of the error, with proof that nothing was loaded."""
    memory = Memory(SIZE)
    with pytest.raises(ElfError) as error:
        load_elf(elf, memory)
    assert not memory.perm.any()
    text = str(error.value)
    assert text.startswith("<bytes>: ")
    return text.removeprefix("<bytes>: ")


def test_a_static_executable_is_placed_with_its_permissions(static: bytes):
    memory = Memory(SIZE)
    image = load_elf(static, memory)
    assert (image.bias, image.is_pie, image.interp, image.flags & 1) == (0, False, None, 1)
    assert image.entry == struct.unpack_from("<Q", static, 24)[0]
    first = program_header(static, 1)
    loads = [struct.unpack_from("<8xQQ8xQQ", static, first + 56 * i) for i in range(3)]
    assert [(s.offset, s.addr, s.file_size, s.size) for s in image.segments] == loads
    assert [s.perm for s in image.segments] == [R, R | X, R | W]
    for segment, (offset, addr, file_size, size) in zip(image.segments, loads, strict=True):
        content = static[offset : offset + file_size].ljust(size, b"\0")
        assert memory.read(addr, size) == content
        assert memory.perm[addr // PAGE] == MAPPED | segment.perm
    assert image.data_end == image.segments[-1].end
    headers = memory.read(image.phdr_addr, image.phdr_num * image.phdr_entsize)
    assert headers == static[64 : 64 + len(headers)]


def test_the_source_is_found_in_memory(static: bytes):
    memory = Memory(SIZE)
    address = load_elf(static, memory).symbols.address
    for name, content in {
        "data_word": struct.pack("<I", 0x11223344),
        "bss_words": bytes(4 * 3000),
        "tohost": bytes(8),
    }.items():
        addr = address(name)
        assert addr is not None
        assert memory.read(addr, len(content)) == content


def test_names_are_found_both_ways(static: bytes):
    memory = Memory(SIZE)
    symbols = load_elf(static, memory).symbols
    twice, data_word = symbols.address("twice"), symbols.address("data_word")
    assert twice is not None
    assert data_word is not None
    assert memory.load4(data_word) == 0x11223344
    assert symbols.lookup(twice) == ("twice", 0)
    assert symbols.lookup(twice + 2) == ("twice", 2)
    assert symbols.lookup(0) is None
    assert symbols.lookup(1 << 63) is None
    assert symbols.address("absent") is None


def test_symbols_are_those_that_the_source_defines(static: bytes):
    symbols = load_elf(static, Memory(SIZE)).symbols
    names = ["tohost", "bss_words", "data_word", "twice", "inner", "wrapper", "_start"]
    found = {name: symbols.address(name) for name in names}
    assert None not in found.values()
    for name in ("bss_words", "data_word", "twice", "wrapper", "_start"):
        assert symbols.lookup(found[name] or 0) == (name, 0)


def test_labels_inside_a_sized_function_belong_to_it(static: bytes):
    symbols = load_elf(static, Memory(SIZE)).symbols
    inner = symbols.address("inner")
    assert inner is not None
    found = symbols.lookup(inner)
    assert found is not None
    assert found[0] == "wrapper"
    assert found[1] > 0


def test_tohost_and_attributes_are_told(static: bytes, pie: bytes):
    image = load_elf(static, Memory(SIZE))
    assert image.tohost == image.symbols.address("tohost") is not None
    assert image.arch is not None
    assert image.arch.startswith("rv64i2p1_m2p0_a2p1")
    assert image.arch.endswith("_xsmtvdot1p0")
    biased = load_elf(pie, Memory(SIZE))
    assert biased.tohost is not None
    assert biased.tohost > PIE_BASE


def test_a_position_independent_executable_goes_to_its_base(pie: bytes):
    memory = Memory(SIZE)
    image = load_elf(pie, memory)
    assert image.is_pie
    assert image.bias == image.segments[0].addr == PIE_BASE
    assert image.entry == PIE_BASE + struct.unpack_from("<Q", pie, 24)[0]
    assert image.symbols.lookup(image.entry) == ("_start", 0)
    found = image.lines.line(image.entry)
    assert found is not None
    assert SOURCE.splitlines()[found[1] - 1].startswith("void _start")


@pytest.mark.parametrize("version", [4, 5])
def test_lines_are_those_of_the_source(version: int, folder: Path, static: bytes, dwarf5: bytes):
    elf = static if version == 4 else dwarf5
    _, offset, _ = section(elf, ".debug_line")
    assert struct.unpack_from("<H", elf, offset + 4)[0] == version
    image = load_elf(elf, Memory(SIZE))
    code = next(s for s in image.segments if s.perm & X)
    lines: dict[str, list[int]] = {}
    for addr in range(code.addr, code.end, 2):
        symbol, found = image.symbols.lookup(addr), image.lines.line(addr)
        if found:
            assert found[0] == str(folder / "prog.c")
            lines.setdefault(symbol[0] if symbol else "", []).append(found[1])
    first, last = source_line("int twice"), source_line("void _start")
    assert lines["twice"][0] == first
    assert first + 1 in lines["twice"]
    assert all(first <= line <= first + 3 for line in lines["twice"])
    assert lines["_start"][0] == last
    assert set(lines["_start"]) <= {last, last + 1, last + 2}
    assert lines["_start"][-1] == source_line("tohost = 1")
    assert image.lines.line(0) is None


def test_a_file_without_debug_information_has_no_lines(folder: Path):
    image = load_elf(compile_elf(folder, "stripped.elf", "-s"), Memory(SIZE))
    assert image.lines.line(image.entry) is None
    assert image.symbols.lookup(image.entry) is None
    assert image.tohost is None


def test_compressed_debug_sections_are_expanded(static: bytes):
    header, offset, size = section(static, ".debug_line")
    content = zlib.compress(static[offset : offset + size])
    packed = struct.pack("<IIQQ", 1, 0, size, 1) + content
    compressed = static + packed
    for offset, value in ((8, 0x800), (24, len(static)), (32, len(packed))):
        compressed = poke(compressed, header + offset, "<Q", value)
    plain, image = load_elf(static, Memory(SIZE)), load_elf(compressed, Memory(SIZE))
    assert image.lines.line(image.entry) == plain.lines.line(plain.entry) is not None
    damaged = poke(compressed, len(static) + 40, "<Q", 0)
    image = load_elf(damaged, Memory(SIZE))
    assert image.lines.line(1) is None


def test_what_is_writable_is_readable(static: bytes):
    data = program_header(static, 1) + 2 * 56
    image = load_elf(poke(static, data + 4, "<I", 2), Memory(SIZE))
    assert image.segments[2].perm == R | W


# Files that are refused


@pytest.mark.parametrize("content", [b"", b"\x7fEL", b"#!/bin/sh\n", bytes(100)])
def test_other_files_are_no_elf(content: bytes):
    assert refused(content) == "not an ELF file"


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(ElfError, match=r"cannot read .*absent\.elf: No such file"):
        load_elf(tmp_path / "absent.elf", Memory(SIZE))
    with pytest.raises(ElfError, match=r"cannot read .*: Is a directory"):
        load_elf(tmp_path, Memory(SIZE))
    with pytest.raises(ElfError, match=r"cannot read 'a.x00b'"):
        load_elf("a\0b", Memory(SIZE))


def test_an_error_names_the_file(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("no program")
    with pytest.raises(ElfError) as error:
        load_elf(path, Memory(SIZE))
    assert str(error.value) == f"{path}: not an ELF file"


def test_other_classes_and_machines_are_refused(folder: Path, static: bytes):
    narrow = compile_elf(folder, "rv32.elf", target="riscv32")
    other = compile_elf(folder, "arm.elf", target="aarch64")
    assert refused(narrow) == "a 32-bit ELF file, rvsim runs RV64"
    assert refused(other) == "for machine EM_AARCH64, not for RISC-V"
    assert refused(poke(static, 18, "<H", 54321)) == "for machine 54321, not for RISC-V"
    assert refused(poke(static, 4, "B", 3)).startswith("its ELF header is damaged: ")
    assert refused(poke(static, 5, "B", 2)) == "a big-endian ELF file"
    assert refused(poke(static, 5, "B", 0)).startswith("its ELF header is damaged: ")


def test_objects_and_cores_are_refused(folder: Path, static: bytes):
    assert refused(compile_elf(folder, "prog.o", "-c")) == "a relocatable object: link it first"
    assert refused(poke(static, 16, "<H", 4)) == "a core dump"
    assert refused(poke(static, 16, "<H", 77)) == "of unknown ELF type 77"


def test_dynamic_executables_name_their_loader(static: bytes):
    header = program_header(static, 0x6474E551)
    path = b"/lib/ld-linux-riscv64-lp64d.so.1\0"
    dynamic = poke(static + path, header, "<I", 3)
    dynamic = poke(dynamic, header + 8, "<Q", len(static))
    dynamic = poke(dynamic, header + 32, "<Q", len(path))
    assert load_elf(dynamic, Memory(SIZE)).interp == "/lib/ld-linux-riscv64-lp64d.so.1"


def test_truncated_files_are_refused(static: bytes):
    assert refused(static[:50]) == "truncated: 50 bytes are less than an ELF header"
    assert refused(static[:100]).startswith("truncated: program headers end at byte ")
    assert refused(static[:600]).startswith("truncated: its segment at 0x1")
    assert refused(static[:600]).endswith("the file at 600")


def test_impossible_program_headers_are_refused(static: bytes):
    first = program_header(static, 1)
    assert refused(poke(static, 56, "<H", 0)) == "no loadable segment"
    assert refused(poke(static, 54, "<H", 32)) == "its program headers have 32 bytes each, not 56"
    many = poke(static + bytes(56 * 2000), 56, "<H", 2000)
    assert refused(many) == "its 2000 program headers are more than 1170"
    assert refused(poke(static, first + 40, "<Q", 1)).endswith("bytes in the file than memory")


def test_segments_and_entry_must_be_in_memory(static: bytes):
    last = program_header(static, 1) + 2 * 56
    for addr in (SIZE - PAGE, 1 << 40, (1 << 64) - 1):
        text = refused(poke(static, last + 16, "<Q", addr))
        assert text.endswith("is outside the guest's memory of 0x2000000 bytes")
    assert refused(poke(static, 24, "<Q", 8)) == (
        "its entry point 0x8 is not in an executable segment"
    )


def test_memory_in_use_is_not_overwritten(static: bytes):
    memory = Memory(SIZE)
    image = load_elf(static, memory)
    with pytest.raises(ElfError, match="where memory is already in use"):
        load_elf(static, memory)
    assert memory.read(image.entry, 4) != bytes(4)


# Damage


def use(image: Image) -> None:
    for addr in (image.entry, image.entry + 6, image.data_end - 1, 0, (1 << 64) - 1):
        image.symbols.lookup(addr)
        image.lines.line(addr)


FLIPS = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.sampled_from([0, 1, 0x7F, 0x80, 0xFF])), max_size=8
)


@pytest.mark.parametrize("part", ["headers", "sections", "anywhere"])
@given(flips=FLIPS, cut=st.one_of(st.none(), st.integers(0, 1 << 14)))
def test_a_damaged_file_loads_or_is_refused(part: str, dwarf5: bytes, flips, cut: int | None):
    start, length = {
        "headers": (0, 64 + 8 * 56),
        "sections": (struct.unpack_from("<Q", dwarf5, 40)[0], 24 * 64),
        "anywhere": (0, len(dwarf5)),
    }[part]
    damaged = bytearray(dwarf5)
    for position, value in flips:
        damaged[min(start + position % length, len(dwarf5) - 1)] = value
    memory = Memory(SIZE)
    try:
        image = load_elf(bytes(damaged[:cut]), memory)
    except ElfError:
        assert not memory.perm.any()
    else:
        use(image)


@given(data=st.data())
def test_damaged_tables_only_lose_what_they_say(data, dwarf5: bytes):
    tables = (
        ".debug_line .debug_line_str .debug_info .debug_abbrev .symtab .strtab .riscv.attributes"
    )
    _, offset, size = section(dwarf5, data.draw(st.sampled_from(tables.split())))
    damaged = bytearray(dwarf5)
    for position, value in data.draw(FLIPS):
        damaged[offset + position % size] = value
    use(load_elf(bytes(damaged), Memory(SIZE)))


def test_a_lost_section_table_loses_names_and_lines_only(pie: bytes):
    for offset, layout, value in ((40, "<Q", 1 << 60), (60, "<H", 0xFFFF), (62, "<H", 0xFF00)):
        image = load_elf(poke(pie, offset, layout, value), Memory(SIZE))
        assert (image.arch, image.tohost, len(image.symbols)) == (None, None, 0)
        assert image.lines.line(image.entry) is None


def test_importing_the_loader_does_not_import_pyelftools():
    code = (
        "import sys, rvsim.guest.elf; assert not any(m.startswith('elftools') for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_attributes_are_those_that_compilers_write(tmp_path: Path):
    source = tmp_path / "x.s"
    source.write_text(".globl _start\n_start: li a0, 0\nli a7, 93\necall\n")
    for cpu, count in (("-mcpu=spacemit_x60", 0), ("-mcpu=spacemit_x60+zvl1024b+zvbb", 2)):
        out = tmp_path / "x.elf"
        command = ["cc", "-target", "riscv64-freestanding", cpu, "-nostdlib", "-static"]
        subprocess.run(
            [sys.executable, "-m", "ziglang", *command, str(source), "-o", str(out)], check=True
        )
        found: list[str] = []
        Machine(memory_size=1 << 26, note=found.append).load(out)
        assert len(found) == count
