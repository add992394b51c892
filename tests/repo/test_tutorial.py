"""The tutorial: its commands print what it shows, and its numbers and pictures are of those."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.transcripts import (
    claims,
    difference,
    numbers,
    paragraphs,
    run,
    steps,
    write_files,
)
from tools.tutorial_pictures import PAGE, PICTURES, figures, shown

_LARGEST_PICTURE = 150_000
_REWRITE = (
    "the tutorial is no longer true: python tools/transcripts.py docs/tutorial/which-unroll.md and"
    " python tools/tutorial_pictures.py write its blocks and pictures anew; then read its text"
)


def test_commands_print_what_the_page_shows_and_its_text_says(tmp_path: Path) -> None:
    page = PAGE.read_text()
    write_files(page, tmp_path)
    printed: list[str] = []
    wrong: list[str] = []
    for step in steps(page):
        wrong += [
            f"{step.command}: nothing before has printed {number}"
            for number in missing([n for n in numbers(step.command) if len(n) > 3], printed)
        ]
        lines = run(step.command, tmp_path)
        wrong += difference(step, lines)
        printed += lines
    for paragraph in paragraphs(page):
        for number in missing(claims(paragraph), [*printed, *linked(paragraph)]):
            wrong.append(f"no command prints {number}, which is in: {paragraph}")
    assert not wrong, "\n".join([_REWRITE, *wrong])


def missing(wanted: list[str], lines: list[str]) -> list[str]:
    """The numbers that are in none of the lines."""
    known = {number for line in lines for number in numbers(line)}
    return [number for number in wanted if number not in known]


def linked(paragraph: str) -> list[str]:
    """The lines of the pages of this repository that a paragraph links to."""
    names = re.findall(r"\]\(([^)#:]+\.md)\)", paragraph)
    return [line for name in names for line in (PAGE.parent / name).read_text().splitlines()]


@pytest.mark.parametrize("name", figures(PAGE.read_text()))
def test_pictures_show_the_numbers_of_the_page(name: str) -> None:
    page = PAGE.read_text()
    assert f"](pictures/{name})" in page
    assert shown(PICTURES / name) == figures(page)[name], _REWRITE
    assert (PICTURES / name).stat().st_size <= _LARGEST_PICTURE


def test_the_page_has_no_other_pictures() -> None:
    assert {path.name for path in PICTURES.iterdir()} == set(figures(PAGE.read_text()))
