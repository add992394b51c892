"""The line that says how far a run is."""

from __future__ import annotations

import io

import pytest

from rvsim.cli import progress
from rvsim.cli.progress import Progress


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is a second after the one before."""
    seconds = iter(range(1000))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(seconds)))


def drawn(total: int | None, count: int) -> str:
    stream = io.StringIO()
    shown = Progress(stream, total)
    for _ in range(count):
        shown.add(1)
    shown.clear()
    shown.clear()
    return stream.getvalue()


def test_count_and_rate() -> None:
    line = "traced 1,024 instructions, 512 a second"
    assert drawn(None, 1500) == f"\r\x1b[K{line}\r\x1b[K"


def test_a_bar_where_the_end_is_known() -> None:
    assert f"[{'#' * 15}{' ' * 15}]  50% traced 1,024 " in drawn(2048, 1024)


def test_a_short_run_shows_nothing() -> None:
    assert drawn(None, 1000) == ""


def test_output_takes_the_place_of_the_line() -> None:
    stream = io.StringIO()
    shown = Progress(stream)
    output: list[str] = []
    write = shown.behind(lambda text: output.append(stream.getvalue()[-4:]))
    for _ in range(1024):
        shown.add(1)
    write(b"hello")
    assert output == ["\r\x1b[K"]


def test_a_line_that_the_program_has_begun_stays() -> None:
    stream = io.StringIO()
    shown = Progress(stream)
    output: list[bytes] = []
    for text, lines in ((b"> ", 0), (b"", 0), (b"yes\n", 1)):
        shown.behind(output.append)(text)
        for _ in range(1024):
            shown.add(1)
        assert stream.getvalue().count("traced") == lines
    shown.behind(output.append, on_terminal=False)(b"to a file")
    for _ in range(1024):
        shown.add(1)
    assert stream.getvalue().count("traced") == 2


def test_it_fits_in_a_line_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrapped cannot be erased."""
    monkeypatch.setenv("COLUMNS", "50")
    assert max(len(text) for text in drawn(2048, 2048).split("\r\x1b[K")) == 49
