"""Pages for people: links and names of files lead somewhere, the glossary is short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
MOST_TERMS = 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_to_them(page: Path) -> None:
    prose = re.sub(r"`[^`]*`", "", page.read_text("utf-8"))
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_glossary_is_short_and_has_each_word_once() -> None:
    terms = re.findall(r"^- \*\*(.+?)\*\*:", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert 30 <= len(terms) <= MOST_TERMS
    words = [word for term in terms for word in term.split(", ")]
    assert len(words) == len(set(words))


def test_the_reading_order_names_every_room_and_files_that_are_there() -> None:
    """A file is looked for in the rooms that its paragraph names."""
    page = (ROOT / "docs/reading-order.md").read_text("utf-8")
    rooms = {path.name for path in (ROOT / "rvsim").iterdir() if (path / "__init__.py").is_file()}
    assert rooms - set(re.findall(r"`(\w+)/", page)) == set()
    files = re.findall(r"`((?:\w+/)*\w+\.(?:py|js|toml|md|json))`", page)
    found = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("*/**/*") if path.is_file()}
    missing = [name for name in files if not any(f"/{f}".endswith(f"/{name}") for f in found)]
    assert missing == []
