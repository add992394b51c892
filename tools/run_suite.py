"""Run a folder of test programs, such as riscv-tests or riscv-vector-tests, and count what passes.

python tools/run_suite.py isa/                        every RISC-V executable below a folder
python tools/run_suite.py isa/ --vlen 512 --jobs 4    more processes, another VLEN
python tools/run_suite.py a.elf b.elf --junit out.xml results for a CI system

A bare-metal image passes by what it writes to tohost, a Linux program by its exit code.
Exit code 1 if any program fails, 2 if there is none.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from rvsim.errors import RvsimError

Verdict = Literal["pass", "fail", "timeout", "error"]
VERDICTS: Final[tuple[Verdict, ...]] = ("pass", "fail", "timeout", "error")
CHARACTERS_KEPT: Final = 2000
ELF_RISCV: Final = b"\xf3\x00"


@dataclass(frozen=True)
class Settings:
    """How each program runs."""

    cpu: str
    isa: str | None
    vlen: int | None
    reserved: str
    timeout: float


@dataclass(frozen=True)
class Result:
    """What became of one program; `why` is empty for one that passed."""

    name: str
    verdict: Verdict
    exit_code: int | None = None
    why: str = ""
    output: str = ""
    instret: int = 0
    seconds: float = 0.0


def main(argv: list[str] | None = None) -> int:
    options = arguments().parse_args(argv)
    settings = Settings(options.cpu, options.isa, options.vlen, options.reserved, options.timeout)
    try:
        check(settings)
        programs = find_programs(options.paths)
    except RvsimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if not programs:
        print("error: there is no RISC-V executable in these paths", file=sys.stderr)
        return 2
    results = run_all(programs, settings, options.jobs)
    show(results)
    try:
        if options.json:
            Path(options.json).write_text(as_json(results, settings), "utf-8")
        if options.junit:
            as_junit(results).write(options.junit, "utf-8", xml_declaration=True)
    except OSError as error:
        print(f"error: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    return int(any(r.verdict != "pass" for r in results))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="programs or folders")
    parser.add_argument("--cpu", default="generic-rv64gcv", help="profile (default: %(default)s)")
    parser.add_argument("--isa", help="ISA string, as for rvsim run")
    parser.add_argument("--vlen", type=int, metavar="N", help="bits of a vector register")
    parser.add_argument("--reserved", choices=("trap", "allow"), default="allow",
                        help="what reserved operands do (default: %(default)s)")  # fmt: skip
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, metavar="N",
                        help="processes (default: one for each CPU)")  # fmt: skip
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S",
                        help="seconds for one program (default: %(default)s)")  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON")
    parser.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
    return parser


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def check(settings: Settings) -> None:
    """RvsimError for settings that no program could run with."""
    from rvsim.profiles import make_config

    make_config(settings.cpu, isa=settings.isa, vlen=settings.vlen)


# -- programs


def find_programs(paths: Iterable[Path]) -> list[tuple[str, Path]]:
    """(name, file) of each RISC-V executable, in order; a file that is named has to be one."""
    found: list[tuple[str, Path]] = []
    for path in paths:
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.is_file())
            found += [(str(p.relative_to(path)), p) for p in files if is_program(p)]
        elif not path.exists():
            raise RvsimError(f"{path} does not exist")
        elif is_program(path):
            found.append((path.name, path))
        else:
            raise RvsimError(f"{path} is not a RISC-V executable")
    return found


def is_program(path: Path) -> bool:
    """Whether the first bytes are those of an executable for RISC-V."""
    with path.open("rb") as file:
        header = file.read(20)
    return (
        header[:4] == b"\x7fELF"
        and header[16:18] in (b"\x02\x00", b"\x03\x00")
        and header[18:20] == ELF_RISCV
    )


# -- running


def run_all(programs: list[tuple[str, Path]], settings: Settings, jobs: int) -> list[Result]:
    """The results in the order of the programs, from several processes."""
    results: dict[Path, Result] = {}
    console = Console(stderr=True)
    columns = (
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    )  # fmt: skip
    with (
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
        ProcessPoolExecutor(min(jobs, len(programs)), get_context("spawn")) as pool,
    ):
        task = bar.add_task("", total=len(programs))
        futures = {pool.submit(run_one, n, str(p), settings): (n, p) for n, p in programs}
        failed = 0
        for future in as_completed(futures):
            name, path = futures[future]
            result = results[path] = outcome(name, future)
            failed += result.verdict != "pass"
            bar.update(task, advance=1, description=f"{failed} failed" if failed else "")
    return [results[path] for _, path in programs]


def outcome(name: str, future: Future[Result]) -> Result:
    """A future's result; a fault of rvsim is the program's error."""
    try:
        return future.result()
    except BrokenProcessPool:
        return Result(name, "error", why="a process has died, and what it had still to run with it")
    except Exception as error:
        return Result(name, "error", why=f"{type(error).__name__}: {error}")


def run_one(name: str, path: str, settings: Settings) -> Result:
    """Run one program in this process."""
    from rvsim.machine import Machine

    began = time.perf_counter()
    notes: list[str] = []
    try:
        machine = Machine(
            settings.cpu,
            isa=settings.isa,
            vlen=settings.vlen,
            reserved=settings.reserved,  # type: ignore[arg-type]
            note=notes.append,
        )
        machine.load(path)
        result = machine.run(timeout=settings.timeout)
    except RvsimError as error:
        return Result(name, "error", why=str(error), seconds=time.perf_counter() - began)
    verdict, why = judge(machine, result, notes)
    output = (result.stdout + result.stderr).decode("utf-8", "backslashreplace")
    seconds = round(time.perf_counter() - began, 3)
    return Result(
        name, verdict, result.exit_code, why, output[-CHARACTERS_KEPT:], result.instret, seconds
    )


def judge(machine: Any, result: Any, notes: list[str]) -> tuple[Verdict, str]:
    """The verdict, and in words why it is not ``pass``."""
    if result.reason == "timeout":
        return "timeout", f"still running at {machine.place(machine.state['pc'])}"
    if result.trap is not None:
        from rvsim.machine.trap_report import trap_report

        return "fail", trap_report(machine, result.trap)
    if result.exit_code:
        return "fail", notes[-1] if notes else f"exit code {result.exit_code}"
    return "pass", ""


# -- results


def groups(results: Iterable[Result]) -> dict[str, Counter[str]]:
    """Verdicts by the part of the name before ``-p-`` or ``-v-``, or else by folder."""
    table: dict[str, Counter[str]] = {}
    for r in results:
        table.setdefault(group(r.name), Counter())[r.verdict] += 1
    return table


def group(name: str) -> str:
    stem = Path(name).name
    for mark in ("-p-", "-v-"):
        if mark in stem:
            return stem.partition(mark)[0]
    return str(Path(name).parent)


def show(results: list[Result]) -> None:
    """What failed and why, and a table of counts."""
    for line in failures(results):
        print(line)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("suite")
    for verdict in VERDICTS:
        table.add_column(verdict, justify="right")
    counted = groups(results)
    for name, counts in counted.items():
        table.add_row(name, *(str(counts[v] or "-") for v in VERDICTS))
    if len(counted) > 1:
        total = Counter(r.verdict for r in results)
        table.add_row("all", *(str(total[v] or "-") for v in VERDICTS))
    Console(highlight=False).print(table)


def failures(results: Iterable[Result]) -> Iterator[str]:
    for r in results:
        if r.verdict != "pass":
            yield f"{r.verdict.upper()} {r.name}: {r.why.splitlines()[0]}"


def as_json(results: list[Result], settings: Settings) -> str:
    counts = Counter(r.verdict for r in results)
    content = {
        "schema": 1,
        "settings": asdict(settings),
        "counts": {v: counts[v] for v in VERDICTS},
        "results": [asdict(r) for r in results],
    }
    return json.dumps(content, indent=1) + "\n"


def as_junit(results: list[Result]) -> ET.ElementTree:
    counts = Counter(r.verdict for r in results)
    suite = ET.Element(
        "testsuite",
        name="rvsim",
        tests=str(len(results)),
        failures=str(counts["fail"] + counts["timeout"]),
        errors=str(counts["error"]),
        time=f"{sum(r.seconds for r in results):.3f}",
    )
    for r in results:
        case = ET.SubElement(
            suite, "testcase", name=r.name, classname=group(r.name), time=f"{r.seconds:.3f}"
        )
        if r.verdict != "pass":
            kind = "error" if r.verdict == "error" else "failure"
            detail = ET.SubElement(case, kind, message=xml_text(r.why.splitlines()[0]))
            detail.text = xml_text(r.why)
        if r.output:
            ET.SubElement(case, "system-out").text = xml_text(r.output)
    return ET.ElementTree(suite)


def xml_text(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return "".join(c if c in "\t\n" or " " <= c < "\ud800" else "?" for c in text)


if __name__ == "__main__":
    sys.exit(main())
