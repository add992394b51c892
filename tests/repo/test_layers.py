"""Imports inside rvsim go one way, from room to room and from module to module.

The order of the rooms is that of decision 14; docs/reading-order.md walks through it.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ROOMS = {
    # what everything may stand on
    "printable": "",
    "errors": "printable",
    "host": "printable errors",
    "config": "",
    "core_files": "errors host config",
    "profiles": "errors host config core_files",
    "toolchain": "errors host profiles",
    # state and instructions
    "hart": "errors profiles",
    "ir": "host hart",
    "fp": "ir",
    "vec": "errors config hart ir",
    "insn": "config hart ir fp vec",
    # what executes them, and how long that takes
    "cost": "errors core_files hart ir vec insn",
    "engine": "host config hart ir fp vec insn cost",
    # programs and what surrounds them
    "guest": "printable errors config profiles hart vec insn",
    "machine": "printable errors host config profiles hart vec insn cost engine guest",
    # what people see
    "perf": "printable errors host hart insn cost engine guest machine",
    "trace": "printable errors config host hart vec insn cost engine machine perf",
    "page": "insn cost perf trace",
    "verifier": "errors profiles toolchain hart vec insn guest machine",
}
"""Room or loose module of rvsim: what else of rvsim it may import, all of it from rows above."""

FREE = frozenset({"cli", "__main__"})
"""May import everything; nothing imports them."""

MOST_LOOSE_MODULES = 8
LONGEST_MODULE = 500


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
            if package == "rvsim" and part not in {part_of(path), "__version__"}:
                uses[part] = path.relative_to(ROOT)
    return found


def test_every_part_has_a_row() -> None:
    assert sorted(set(dependencies()) - {""} - FREE) == sorted(ROOMS)


@pytest.mark.parametrize("part", ROOMS)
def test_a_part_imports_what_its_row_allows(part: str) -> None:
    uses = dependencies()[part]
    allowed = set(ROOMS[part].split())
    assert {name: str(path) for name, path in uses.items() if name not in allowed} == {}
    assert allowed - set(uses) == set(), "unused entries"


def test_rows_name_only_rows_above_them() -> None:
    above: set[str] = set()
    for part, row in ROOMS.items():
        assert set(row.split()) <= above, part
        above.add(part)


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports_by_module() -> Mapping[str, frozenset[str]]:
    """For each module of rvsim, the modules of rvsim that it imports, for types only included."""
    names = {module_name(path): path for path in python_files("rvsim")}
    return {
        name: frozenset(
            found for m in imported_modules(path) if (found := _known(m, names)) not in ("", name)
        )
        for name, path in names.items()
    }


def _known(name: str, modules: Mapping[str, Path]) -> str:
    """The module that an imported name is or is in; "" if it is none of rvsim's."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def test_no_circle_between_modules() -> None:
    try:
        TopologicalSorter(imports_by_module()).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]))


def test_few_modules_are_in_no_room() -> None:
    loose = [path for path in (ROOT / "rvsim").glob("*.py") if not path.name.startswith("__")]
    assert len(loose) <= MOST_LOOSE_MODULES, loose


def test_no_module_is_long() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in python_files("rvsim")}
    assert {str(p): n for p, n in lengths.items() if n > LONGEST_MODULE} == {}


def classes(path: Path) -> Iterator[str]:
    """Names of the classes of a module but protocols, which are called as what implements them."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
            if "Protocol" not in bases:
                yield node.name.lstrip("_")


def test_no_two_classes_have_one_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in python_files("rvsim"):
        for name in classes(path):
            homes.setdefault(name, []).append(module_name(path))
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


@pytest.mark.parametrize("outside", ["tools", "tests"])
def test_the_package_imports_nothing_from_the_repository_around_it(outside: str) -> None:
    for path in python_files("rvsim"):
        assert not [m for m in imported_modules(path) if m.split(".")[0] == outside], path


def test_the_oracle_imports_nothing_of_rvsim() -> None:
    """A shared body would make both sides wrong together."""
    for path in python_files("tests/oracle"):
        assert not [m for m in imported_modules(path) if m.split(".")[0] == "rvsim"], path
