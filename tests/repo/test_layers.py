"""Imports inside rvsim go one way, as the design draws it:

ir <- {fp, vec} <- insn <- {decode, interp, jit, cost} <- machine <- {trace, verify} <- cli
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MAY_IMPORT = {
    # what everything may stand on
    "printable": "",
    "regular_file": "",
    "address_space": "",
    "file_limits": "",
    "errors": "printable",
    "host": "errors",
    "config": "",
    "state": "",
    "kept": "",
    "data": "errors",
    "codemap": "",
    "areas": "",
    "mem": "errors address_space areas codemap",
    "lanes": "mem",
    "traffic": "state",
    "tables": "errors",
    "summary": "printable",
    "interrupts": "",
    "outputs": "",
    "profiles": "errors config data",
    "attributes": "config profiles",
    "initial": "profiles state",
    # files
    "symbols": "",
    "sections": "printable file_limits symbols",
    "line_program": "file_limits",
    "lines": "printable file_limits sections line_program",
    "segments": "mem",
    "elf": "errors mem symbols sections lines segments",
    "toolchain": "errors kept regular_file data",
    # instructions
    "ir": "host state mem",
    "fp": "ir",
    "vec": "errors config ir",
    "insn": "config ir fp vec",
    "decode": "config mem vec insn",
    "disasm": "vec insn decode",
    # the guest's process
    "linux": "errors config state initial areas mem printable elf vec",
    # engines
    "cost": "errors data state ir vec insn decode",
    "interp": "config state mem lanes ir vec insn decode cost",
    "jit": "host config state kept regular_file address_space mem ir fp vec insn decode cost"
    " interp",
    # what surrounds a bare-metal image
    "bare": "errors state mem elf insn interp",
    "machine": "errors host config state mem printable traffic tables summary interrupts profiles"
    " attributes initial elf linux decode cost interp jit bare",
    # profiles
    "perf": "errors mem elf symbols decode insn cost interp machine",
    # listeners and reports
    "trace": "errors state mem printable traffic tables interrupts outputs vec insn decode disasm"
    " cost interp machine perf",
    "report": "config mem printable profiles vec insn decode disasm interp machine",
}
"""Module or folder of rvsim: what else of rvsim it may import, all of it from rows above."""

FREE = frozenset({"cli", "__main__"})
"""May import everything; nothing imports them."""


@cache
def imported_modules(path: Path) -> tuple[str, ...]:
    """Dotted names of all that a file imports, wherever in the file it does."""
    return tuple(_imports(ast.parse(path.read_text("utf-8"))))


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where a module stands"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def python_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def part_of(path: Path) -> str:
    """The module or folder of rvsim that a file belongs to; "" for the package itself."""
    name = path.relative_to(ROOT / "rvsim").with_suffix("").parts[0]
    return "" if name == "__init__" else name


@cache
def dependencies() -> dict[str, dict[str, Path]]:
    """For each part of rvsim, the other parts it imports, with a file that does."""
    found: dict[str, dict[str, Path]] = {}
    for path in python_files("rvsim"):
        uses = found.setdefault(part_of(path), {})
        for module in imported_modules(path):
            package, _, rest = module.partition(".")
            part = rest.partition(".")[0]
            if package == "rvsim" and part != part_of(path):
                uses[part] = path.relative_to(ROOT)
    return found


def test_every_part_has_a_row() -> None:
    assert sorted(set(dependencies()) - {""} - FREE) == sorted(MAY_IMPORT)


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_a_part_imports_what_its_row_allows(part: str) -> None:
    uses = dependencies()[part]
    allowed = set(MAY_IMPORT[part].split())
    assert {name: str(path) for name, path in uses.items() if name not in allowed} == {}
    assert allowed - set(uses) == set(), "unused entries"


def test_rows_name_only_rows_above_them() -> None:
    above: set[str] = set()
    for part, row in MAY_IMPORT.items():
        assert set(row.split()) <= above, part
        above.add(part)


@pytest.mark.parametrize("outside", ["tools", "tests"])
def test_the_package_imports_nothing_from_the_repository_around_it(outside: str) -> None:
    for path in python_files("rvsim"):
        assert not [m for m in imported_modules(path) if m.split(".")[0] == outside], path


def test_the_oracle_imports_nothing_of_rvsim() -> None:
    """A shared body would make both sides wrong together."""
    for path in python_files("tests/oracle"):
        assert not [m for m in imported_modules(path) if m.split(".")[0] == "rvsim"], path
