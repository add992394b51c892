"""Pages of decisions: numbered without a gap, titled by number, with a status below the title."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "decisions").glob("*.md"))
STATUS = re.compile(
    r"Status: (proposed|accepted|replaced by \[decision \d+\]\(\d{4}-[\w-]+\.md\))"
    r", 20\d\d-\d\d-\d\d(; .+)?"
)


def test_numbers_have_no_gap() -> None:
    assert [int(page.name[:4]) for page in PAGES] == list(range(1, len(PAGES) + 1))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_its_number_and_a_status(page: Path) -> None:
    title, blank, status, *_ = page.read_text("utf-8").splitlines()
    assert title.startswith(f"# {int(page.name[:4])}. ")
    assert not blank
    assert STATUS.fullmatch(status), status
    for link in re.findall(r"\((\d{4}-[\w-]+\.md)\)", page.read_text("utf-8")):
        assert (page.parent / link).is_file(), link
