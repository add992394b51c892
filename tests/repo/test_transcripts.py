"""``tools/transcripts.py``: what a page shows of its commands, and when that is no longer true."""

from __future__ import annotations

import doctest
from pathlib import Path
from types import ModuleType

import pytest

from tools import transcripts, tutorial_pictures
from tools.transcripts import (
    claims,
    difference,
    fitted,
    paragraphs,
    refreshed,
    run,
    steps,
    write_files,
)

PAGE = """\
Two lines in **one** file:

```text notes.txt
first 1
second 2
```

```text
$ cat notes.txt
first 1
second 2
$ cat notes.txt \\
      notes.txt
first 1
[...]
second 2
```
"""


def differences(page: str, folder: Path) -> list[str]:
    write_files(page, folder)
    return [line for step in steps(page) for line in difference(step, run(step.command, folder))]


def test_a_true_page_stays_as_it_is(tmp_path: Path) -> None:
    assert [step.command for step in steps(PAGE)] == ["cat notes.txt", "cat notes.txt notes.txt"]
    assert differences(PAGE, tmp_path) == []
    assert refreshed(PAGE, tmp_path) == PAGE


@pytest.mark.parametrize("true", ["first 1\nsecond 2\n$", "first 1\n[...]", "[...]\nsecond 2\n`"])
def test_a_false_line_is_shown_and_put_right(true: str, tmp_path: Path) -> None:
    false = PAGE.replace(true, true.replace("1", "7").replace("2", "8"))
    assert false != PAGE
    found = differences(false, tmp_path)
    assert found[0].startswith("--- the page, line 1")
    assert {"-first 7", "+first 1"} <= set(found) or {"-second 8", "+second 2"} <= set(found)
    assert refreshed(false, tmp_path) == PAGE


def test_a_line_too_many_or_too_few_is_a_difference(tmp_path: Path) -> None:
    assert differences(PAGE.replace("second 2\n$", "second 2\nthird\n$"), tmp_path)
    assert differences(PAGE.replace("first 1\nsecond 2\n$", "first 1\n$"), tmp_path)


def test_a_command_of_rvsim_runs_here_and_into_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nine.c").write_text("int main(void) { return 9; }\n")
    assert run("rvsim build nine.c", tmp_path) == ["nine.elf"]
    assert run("rvsim dis nine.elf | grep -c '<main>'", tmp_path) == ["1"]
    monkeypatch.setattr(transcripts, "_run_in_shell", lambda *args: pytest.fail("a shell"))
    assert run("rvsim run nine.elf", tmp_path) == []


def test_stderr_is_shown_where_a_command_fails(tmp_path: Path) -> None:
    assert run("rvsim run none.elf", tmp_path)[0].startswith("rvsim: there is no file none.elf")
    assert run("echo out; echo err >&2", tmp_path) == ["out"]
    assert run("echo out; echo err >&2; false", tmp_path) == ["out", "err"]
    assert run("false | cat", tmp_path) == []


def test_the_lines_between_those_left_out_are_the_most_similar() -> None:
    printed = ["head", "a 1", "b 2", "a 3", "b 4", "c 5", "end"]
    assert fitted(["head", "[...]", "a 3", "b 4", "[...]"], printed)[2:4] == ["a 3", "b 4"]
    assert fitted(["head", "[...]", "a 9", "b 9", "c 9", "[...]"], printed)[2:5] == printed[3:6]
    assert fitted(["[...]", "end 2"], printed) == ["[...]", "end"]


def test_a_window_that_moved_is_used_by_the_commands_behind_it(tmp_path: Path) -> None:
    page = (
        "```text\n$ echo x --trace-window 4:7 | sed s/4:7/5:8/\nx --trace-window 4:7\n"
        "$ echo --trace-window 4:7\n```\n"
    )
    moved = refreshed(page.replace("\n$ echo --t", "\n$ echo is --t"), tmp_path)
    assert moved.splitlines()[-3:] == [
        "$ echo is --trace-window 5:8",
        "is --trace-window 5:8",
        "```",
    ]


def test_claims_are_fractions_thousands_and_what_is_marked() -> None:
    text = (
        "In 3 of 4 cases 1.25 times, **7** or `8 lines`, v16, 12,345 and 0x10.\n\n```c\n9.5\n```\n"
    )
    (paragraph,) = paragraphs(text)
    assert claims(paragraph) == ["1.25", "7", "8", "12,345"]


@pytest.mark.parametrize("module", [transcripts, tutorial_pictures])
def test_examples_in_docstrings_run(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed
