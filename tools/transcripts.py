"""Command lines of a page with what they print: run again, compared, and written again.

``python tools/transcripts.py PAGE…`` runs the commands of pages and writes their output anew; look
at the diff.  Tests fail where a page differs.

A fenced block whose first line begins with ``$ `` is a transcript: each such line is a command, and
what follows is its output.  A line ``[...]`` stands for lines left out.  A ``\\`` at the end of a
command goes on in the next line.  All commands of a page run in one folder, in their order; it has
the files that the page shows in blocks like ``c name.c``.  Shown is what they write to stdout, and
of commands that fail to stderr too, without notes.
"""

from __future__ import annotations

import difflib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from rvsim import cli

LEFT_OUT = "[...]"
PROMPT = "$ "
COLUMNS = "120"
"""The width of what is not a terminal, also where a terminal starts the tests."""

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|[.,]\d)")
_SHELL = re.compile(r"[|&;<>()$`*?{}\\]")
"""What only a shell understands."""


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: its language, its lines, and the index of the first of them in the page."""

    language: str
    lines: tuple[str, ...]
    first: int


@dataclass(frozen=True, slots=True)
class Step:
    """A command and the output that the page shows, which begins at line `first` of the page."""

    command: str
    shown: tuple[str, ...]
    first: int


def fences(page: str) -> list[Fence]:
    """The fenced blocks of a page in Markdown.

    >>> fences("text\\n```c\\nint x;\\n```\\n")
    [Fence(language='c', lines=('int x;',), first=2)]
    """
    found = []
    begin: tuple[str, int] | None = None
    lines = page.splitlines()
    for i, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if begin is None:
            begin = line[3:].strip(), i + 1
        else:
            found.append(Fence(begin[0], tuple(lines[begin[1] : i]), begin[1]))
            begin = None
    return found


def steps(page: str) -> list[Step]:
    """The commands of a page.

    >>> steps("```text\\n$ echo a \\\\\\n    b\\na b\\n```\\n")
    [Step(command='echo a b', shown=('a b',), first=3)]
    """
    return [
        step for f in fences(page) if f.lines[:1] and _is_command(f.lines[0]) for step in _of(f)
    ]


def _is_command(line: str) -> bool:
    return line.startswith(PROMPT)


def _of(fence: Fence) -> Iterator[Step]:
    starts = [i for i, line in enumerate(fence.lines) if _is_command(line)]
    for start, end in zip(starts, [*starts[1:], len(fence.lines)], strict=True):
        behind = start
        command = fence.lines[start].removeprefix(PROMPT)
        while command.endswith("\\"):
            behind += 1
            command = f"{command[:-1].rstrip()} {fence.lines[behind].strip()}"
        yield Step(command, fence.lines[behind + 1 : end], fence.first + behind + 1)


def run(command: str, folder: Path) -> list[str]:
    """The lines that a command prints when it runs in a folder."""
    first, pipe, rest = command.partition(" | ")
    if first.startswith("rvsim ") and not _SHELL.search(first):
        text = _run_here(shlex.split(first)[1:], folder)
        text = _run_in_shell(rest, folder, text) if pipe else text
    else:
        text = _run_in_shell(command, folder)
    return [line.rstrip() for line in text.splitlines()]


def _run_here(arguments: Sequence[str], folder: Path) -> str:
    """A command line of rvsim, in this process: starting one takes longer than most commands."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        with chdir(folder), redirect_stdout(out), redirect_stderr(err):
            code = cli.run(arguments)
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before
    text = _written(out)
    return text + _without_notes(_written(err)) if code else text


def _without_notes(text: str) -> str:
    return "".join(x for x in text.splitlines(True) if not x.startswith("rvsim: note: "))


def _written(stream: io.TextIOWrapper) -> str:
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


def _run_in_shell(command: str, folder: Path, stdin: str = "") -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": path, "COLUMNS": COLUMNS},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + (done.stderr if done.returncode else "")


def write_files(page: str, folder: Path) -> None:
    """Write the files that a page shows to a folder."""
    for fence in fences(page):
        _, _, name = fence.language.partition(" ")
        if name:
            (folder / name).write_text("\n".join(fence.lines) + "\n")


def fitted(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """What a page should show of what was printed: as many lines, the most similar ones.

    >>> fitted(["cycles 10", "[...]", "war 7", "[...]"], ["cycles 12", "raw 1", "war 8", "end"])
    ['cycles 12', '[...]', 'war 8', '[...]']
    """
    parts: list[list[str]] = [[]]
    for line in shown:
        if line == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) == 1:
        return list(printed)
    found = list(printed[: len(parts[0])])
    at = len(found)
    for part in parts[1:-1]:
        at = _most_similar(part, printed, at)
        found += [LEFT_OUT, *printed[at : at + len(part)]]
        at += len(part)
    return [*found, LEFT_OUT, *printed[max(at, len(printed) - len(parts[-1])) :]]


def _most_similar(part: Sequence[str], printed: Sequence[str], first: int) -> int:
    """Where lines like those of a part begin: the same ones, or else the same but for numbers."""

    def likeness(start: int) -> tuple[bool, int]:
        lines = printed[start : start + len(part)]
        pairs = zip(part, lines, strict=False)
        return list(lines) == list(part), sum(_shape(a) == _shape(b) for a, b in pairs)

    return max(range(first, max(first + 1, len(printed) - len(part) + 1)), key=likeness)


def _shape(line: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\d[\d,.]*", "0", line))


def difference(step: Step, printed: Sequence[str]) -> list[str]:
    """Lines that say what a page shows and what was printed; none if that is the same."""
    expected = fitted(step.shown, printed)
    before, after = f"the page, line {step.first + 1}", "now"
    return list(difflib.unified_diff(step.shown, expected, before, after, lineterm="", n=2))


def refreshed(page: str, folder: Path) -> str:
    """The page with what its commands print now, in a folder for them.

    Where a command prints another ``--trace-window`` than before, those behind it use that one.
    """
    write_files(page, folder)
    for i in range(len(steps(page))):
        step = steps(page)[i]
        new = fitted(step.shown, run(step.command, folder))
        lines = page.splitlines()
        lines[step.first : step.first + len(step.shown)] = new
        page = "\n".join(lines) + "\n"
        for before, now in zip(_windows(step.shown), _windows(new), strict=False):
            page = page.replace(before, now)
    return page


def _windows(lines: Sequence[str]) -> list[str]:
    return [found for line in lines for found in re.findall(r"--trace-window \d+:\d+", line)]


def numbers(text: str) -> list[str]:
    """The numbers in a text; not those inside of names.

    >>> numbers("1,234 of 7.5 (1.25 times) in gemm_tile_s8_x1, v8, 0x10 and 3.")
    ['1,234', '7.5', '1.25', '3']
    """
    return _NUMBER.findall(text)


def claims(prose: str) -> list[str]:
    """Numbers that a text takes from elsewhere: fractions, thousands, and all in bold or code.

    >>> claims("8 tokens take **19** cycles, `2` in all, 1.5 of them in `vle8.v v8`")
    ['19', '2', '1.5']
    """
    marked = {m.span() for m in re.finditer(r"\*\*[^*]+\*\*|`[^`]+`", prose)}
    return [
        m[0]
        for m in _NUMBER.finditer(prose)
        if re.search(r"[.,]", m[0]) or any(a < m.start() < b for a, b in marked)
    ]


def paragraphs(page: str) -> list[str]:
    """The text of a page between its fenced blocks."""
    lines = page.splitlines()
    for fence in reversed(fences(page)):
        lines[fence.first - 1 : fence.first + len(fence.lines) + 1] = [""]
    return [p for p in re.split(r"\n\s*\n", "\n".join(lines)) if p.strip()]


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name)
        with tempfile.TemporaryDirectory() as folder:
            path.write_text(refreshed(path.read_text(), Path(folder)))


if __name__ == "__main__":
    main()
