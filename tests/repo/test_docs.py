"""Examples run: docstrings of every module, and the Python of the README."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import rvsim
from rvsim.toolchain import build_kernel

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


PAGES = {"README.md": "PASS checksum", "docs/cycles.md": "'vector unit'"}
"""Pages with Python that runs a kernel, and what it prints."""


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build_kernel("gemm_tile_s8", tmp_path)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    exec(compile(code, page, "exec"), {})
    assert PAGES[page] in capsys.readouterr().out
