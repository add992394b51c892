"""Which source files are shown: a program's file may name any file of the host as its source."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.programs import A0, exit_with, li
from tests.program.bare import TEXT, assemble, step
from tests.program.dwarf_writer import (
    ABBREV,
    ADVANCE_PC,
    COPY,
    END_SEQUENCE,
    info_unit,
    line_unit,
    set_address,
)
from tests.program.elf_files import Section, Segment, elf_file

SECRET = "root:x:0:0: the text of the source"


def program(folder: Path, source: str) -> Path:
    """A program with a hot loop whose lines are of this file, by a path from its folder on."""
    steps = [
        li(A0, 200),
        step("addi", rd=A0, rs1=A0, imm=-1),
        step("bne", rs1=A0, rs2=0, imm=-4),
        *exit_with(0),
    ]
    text = assemble(steps)
    rows = set_address(TEXT) + bytes([COPY, ADVANCE_PC, len(text) // 2]) + END_SEQUENCE
    tables = b"\0" + source.encode() + b"\0\0\0\0" + b"\0"
    path = folder / "prog.elf"
    path.write_bytes(
        elf_file(
            [Segment(TEXT, text)],
            [
                Section(".debug_info", info_unit(4, comp_dir=os.fsencode(folder))),
                Section(".debug_abbrev", ABBREV),
                Section(".debug_line", line_unit(4, tables, rows)),
            ],
        )
    )
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "program"
    made.mkdir()
    (tmp_path / "secret.c").write_text(SECRET)
    (made / "own.c").write_text(SECRET)
    (made / ".hidden.c").write_text(SECRET)
    (made / "link.c").symlink_to(tmp_path / "secret.c")
    (made / "inner.c").symlink_to(made / "own.c")
    (made / "up").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(made / "pipe.c")
    return made


def shown(rvsim: Cli, path: Path, *options: str | Path) -> tuple[str, str]:
    """What annotate prints on stdout, with its notes, and the page of report."""
    annotated = rvsim("annotate", path, *options)
    page = path.parent / "page.html"
    assert (
        annotated.code == rvsim("report", path, "-o", page, "--timeline", "0", *options).code == 0
    )
    return annotated.out + annotated.err, page.read_text()


@pytest.mark.parametrize("source", ["own.c", "./own.c", "inner.c", "up/program/own.c"])
def test_sources_in_the_folder_of_the_program_are_shown(rvsim: Cli, folder: Path, source: str):
    for text in shown(rvsim, program(folder, source)):
        assert SECRET in text
        assert "--source-dir" not in text


@pytest.mark.parametrize(
    "source",
    ["../secret.c", "link.c", "up/secret.c", ".hidden.c", "../program/.hidden.c", "/etc/passwd"],
)
def test_others_are_left_out_and_named(rvsim: Cli, folder: Path, source: str):
    for text in shown(rvsim, program(folder, source)):
        assert "root:x:0:0" not in text
        assert f"{source}: --source-dir allows more" in text


def test_named_folders_are_read_too(rvsim: Cli, folder: Path):
    path = program(folder, "../secret.c")
    for text in shown(rvsim, path, "--source-dir", folder.parent):
        assert SECRET in text
        assert "allows more" not in text


@pytest.mark.parametrize("source", ["pipe.c", "nowhere.c", "up", "/dev/zero"])
def test_what_is_no_file_is_not_read(rvsim: Cli, folder: Path, source: str):
    for text in shown(rvsim, program(folder, source), "--source-dir", "/dev"):
        assert SECRET not in text


def test_a_large_file_is_not_read(rvsim: Cli, folder: Path):
    with open(folder / "large.c", "wb") as file:
        file.write(SECRET.encode())
        file.truncate(1 << 25)
    for text in shown(rvsim, program(folder, "large.c")):
        assert SECRET not in text


def test_kernels_show_their_own_sources(rvsim: Cli):
    annotated = rvsim("annotate", "gemm_tile_s8")
    assert "for (" in annotated.out
    assert "not read" not in annotated.err
