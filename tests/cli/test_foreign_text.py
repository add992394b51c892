"""Names that move the cursor or turn lines around reach no terminal, trace or page as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from rvsim.cli.output import JsonFile
from rvsim.errors import RvsimError
from tests.cli.conftest import Cli
from tests.cli.programs import A0, A1, A2, A7, exit_with, li, syscall, write
from tests.program.bare import DATA, TEXT, Step, assemble, load_upper, step
from tests.program.dwarf_writer import (
    ABBREV,
    ADVANCE_PC,
    COPY,
    END_SEQUENCE,
    info_unit,
    line_unit,
    set_address,
)
from tests.program.elf_files import (
    ALLOC,
    EXECINSTR,
    STRTAB,
    SYMTAB,
    R,
    Section,
    Segment,
    W,
    X,
    elf_file,
    symbol,
)

EVIL = b"\x1b]0;pwned\x07\x9b31m\xc2\x9b\x7f\xe2\x80\xae\xe2\x81\xa7\xff\r"
"""ESC, BEL, C1 as a byte and as UTF-8, DEL, two bidi overrides, a byte that is no UTF-8, CR."""

FORBIDDEN = [chr(c) for c in (*range(9), *range(11, 32), *range(0x7F, 0xA0))]
FORBIDDEN += [chr(c) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
OUTPUT = b"\x1b[1mguest\x1b[0m"
OPENAT, AT_FDCWD, PRCTL, SET_NAME = 56, -100, 167, 15


def hostile(folder: Path, *last: Step) -> Path:
    """A program with a hot loop that opens a file, writes `OUTPUT`, and ends with these steps."""
    name = b"/etc/" + EVIL + b"\0"
    steps = [
        *(li(A0, AT_FDCWD), load_upper(A1, DATA), step("addi", rd=A1, rs1=A1, imm=64)),
        *(li(A2, 0), *syscall(OPENAT)),
        *(li(A0, SET_NAME), load_upper(A1, DATA), step("addi", rd=A1, rs1=A1, imm=64)),
        *syscall(PRCTL),
        li(A0, 200),
        step("addi", rd=A0, rs1=A0, imm=-1),
        step("bne", rs1=A0, rs2=0, imm=-4),
        *write(1, len(OUTPUT)),
        *last,
    ]
    text, data = assemble(steps), OUTPUT.ljust(64, b"\0") + name
    tables = b"\0" + EVIL + b".c\0\0\0\0" + b"\0"
    rows = bytes([COPY, ADVANCE_PC, len(text) // 2])
    lines = set_address(TEXT) + rows + END_SEQUENCE
    symbols = bytes(24) + symbol(1, TEXT, len(text), 1)
    content = elf_file(
        [Segment(TEXT, text, R | X), Segment(DATA, data, R | W)],
        [
            Section(b".text" + EVIL, text, flags=ALLOC | EXECINSTR, addr=TEXT),
            Section(".symtab", symbols, SYMTAB, link=3),
            Section(".strtab", b"\0main" + EVIL + b"\0", STRTAB),
            Section(".debug_info", info_unit(4, comp_dir=bytes(folder))),
            Section(".debug_abbrev", ABBREV),
            Section(".debug_line", line_unit(4, tables, lines)),
        ],
        entry=TEXT,
    )
    (folder / "evil.c").write_bytes(b"source " + EVIL)
    path = folder / f"name{EVIL.decode('utf-8', 'surrogateescape')}.elf"
    path.write_bytes(content)
    return path


def forbidden_in(text: str) -> list[str]:
    return [c for c in FORBIDDEN if c in text]


COMMANDS = {
    "run": ["--cycles", "--stats", "--strace"],
    "profile": [],
    "annotate": [],
    "timeline": [],
    "compare": [],
    "dis": [],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_shown_escaped(rvsim: Cli, tmp_path: Path, command: str) -> None:
    path = hostile(tmp_path, *exit_with(0))
    result = rvsim(command, path, *COMMANDS[command])
    assert result.code == 0
    shown = (result.out + result.err).replace(OUTPUT.decode(), "")
    assert forbidden_in(shown) == []
    if command != "timeline":
        assert "\\x1b]0;pwned\\x07" in shown
    if command == "run":
        assert OUTPUT.decode() in result.out


def test_a_trap_and_an_error_show_names_escaped(rvsim: Cli, tmp_path: Path) -> None:
    path = hostile(tmp_path, step("ebreak"), li(A7, 0))
    trapped = rvsim("run", path)
    assert trapped.code == 128 + 5
    assert "in main\\x1b]0;pwned" in trapped.err
    assert forbidden_in(trapped.err) == []
    path.write_bytes(b"no ELF")
    for arguments in (
        ["run", path],
        ["dis", path],
        ["run", f"{path}?"],
        ["run", path, "--cpu", path.name],
    ):
        refused = rvsim(*arguments)
        assert refused.code == 2
        assert "\\x1b]0;pwned" in refused.err
        assert forbidden_in(refused.err + refused.out) == []


@pytest.mark.parametrize("form", ["callgrind", "chrome", "kanata", "spike"])
def test_traces_have_names_escaped(rvsim: Cli, tmp_path: Path, form: str) -> None:
    path = hostile(tmp_path, *exit_with(0))
    trace = tmp_path / "trace"
    assert rvsim("run", "--trace", f"{form}:{trace}", path).code == 0
    text = trace.read_bytes().decode("utf-8")
    assert forbidden_in(text) == []
    assert form != "callgrind" or "main\\x1b]0;pwned" in text


def test_a_page_and_json_have_names_escaped(rvsim: Cli, tmp_path: Path) -> None:
    path = hostile(tmp_path, *exit_with(0))
    page, result = tmp_path / "page.html", tmp_path / "result.json"
    assert rvsim("report", path, "-o", page).code == 0
    assert rvsim("annotate", path, "--json", result).code == 0
    for made in (page, result):
        text = made.read_text("utf-8")
        assert forbidden_in(text) == []
        assert "x1b]0;pwned" in text


def test_lines_of_traces_are_shown_escaped(rvsim: Cli, tmp_path: Path) -> None:
    line = "core   0: 3 0x{:016x} (0x00000013) {}\n"
    for name in "ab":
        log = line.format(0x10000, "\x1b[31m") + line.format(0x10004 + 4 * (name == "b"), "\x7f")
        (tmp_path / name).write_text(log)
    result = rvsim("diff-trace", tmp_path / "a", tmp_path / "b")
    assert result.code == 1
    assert forbidden_in(result.out) == []


def test_json_is_escaped_as_json_is(tmp_path: Path) -> None:
    with JsonFile(str(tmp_path / "x.json")) as file:
        file.write({"name": "\x7f\x1b"})
    assert '"\\u007f\\u001b"' in (tmp_path / "x.json").read_text()


def test_errors_of_the_python_interface_are_safe_to_print() -> None:
    assert str(RvsimError("\x1b[1mx", hint="\u202e")) == "\\x1b[1mx: \\u202e"
