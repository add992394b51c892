"""Examples run: docstrings of every module, Python of pages, and the commands of the README."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import rvsim
from rvsim.toolchain import build_kernel
from tools.transcripts import difference, fences, run, steps, write_files

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    m.name for m in pkgutil.walk_packages(rvsim.__path__, "rvsim.") if m.name != "rvsim.__main__"
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_examples_are_found_at_all() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = sum(
        len(test.examples)
        for name in MODULES
        for test in finder.find(importlib.import_module(name))
    )
    assert examples > 50


PAGES = {"README.md": "PASS checksum", "docs/cycles.md": "'vector unit'", "docs/verify.md": "right"}
"""Pages with Python that runs a kernel, and what it prints."""


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build_kernel("gemm_tile_s8", tmp_path)
    monkeypatch.chdir(tmp_path)
    found = [f for f in fences((ROOT / page).read_text()) if f.language == "python"]
    names: dict[str, object] = {}
    for fence in found:
        exec(compile("\n".join(fence.lines), page, "exec"), names)
    assert found
    assert PAGES[page] in capsys.readouterr().out


def test_the_commands_of_the_readme_print_what_it_shows(tmp_path: Path) -> None:
    """``python tools/transcripts.py README.md`` writes it anew."""
    page = (ROOT / "README.md").read_text()
    write_files(page, tmp_path)
    wrong = [line for step in steps(page) for line in difference(step, run(step.command, tmp_path))]
    assert not wrong, "\n".join(wrong)
