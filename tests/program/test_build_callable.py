"""build_callable: every function stays, headers count for the cache, missing symbols are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from rvsim.errors import RvsimError
from rvsim.toolchain import CompileError, build_callable


def test_functions_that_nobody_calls_stay(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("int unused(int x) { return x + 1; }\n")
    assert b"\0unused\0" in build_callable([source]).read_bytes()


def test_a_changed_header_makes_another_program(tmp_path: Path) -> None:
    source, header = tmp_path / "plain.c", tmp_path / "step.h"
    source.write_text('#include "step.h"\nint step(int x) { return x + STEP; }\n')
    header.write_text("#define STEP 3\n")
    first = build_callable([source])
    assert build_callable([source]) == first
    header.write_text("#define STEP 4\n")
    assert build_callable([source]) != first


def test_unresolved_symbols_are_named(tmp_path: Path) -> None:
    source = tmp_path / "open.c"
    source.write_text("int nowhere(int);\nint ask(void) { return nowhere(1); }\n")
    with pytest.raises(CompileError, match="undefined symbol: nowhere"):
        build_callable([source], libc="none")


def test_other_files_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "notes.txt"
    source.write_text("")
    with pytest.raises(RvsimError, match="no C, assembly, object or archive file"):
        build_callable([source])
