"""Output files: a guest that renames what is in their folder turns rvsim against no other file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rvsim.cli.output import WholeFile
from rvsim.host.outputs import OutputPlace


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that is nobody's business, in a folder of its own."""
    (tmp_path / "private").mkdir()
    path = tmp_path / "private" / "secret"
    path.write_text("secret")
    path.chmod(0o600)
    return path


def untouched(secret: Path) -> bool:
    alone = os.listdir(secret.parent) == ["secret"]
    return alone and secret.read_text() == "secret" and secret.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def partial_in(folder: Path) -> Path:
    (name,) = (path for path in folder.iterdir() if path.name.startswith(".page.html."))
    return name


def test_a_whole_file_is_put_in_its_place(out: Path):
    umask = os.umask(0)
    os.umask(umask)
    with WholeFile(str(out / "page.html")) as file:
        assert partial_in(out).stat().st_mode & 0o777 == 0o600
        file.write_text("text")
    assert (out / "page.html").read_text() == "text"
    assert (out / "page.html").stat().st_mode & 0o777 == 0o666 & ~umask
    with pytest.raises(KeyError), WholeFile(str(out / "page.html")):
        raise KeyError
    assert os.listdir(out) == ["page.html"]


def test_a_link_in_place_of_the_unfinished_file_is_not_followed(out: Path, secret: Path):
    with WholeFile(str(out / "page.html")) as file:
        partial = partial_in(out)
        partial.unlink()
        partial.symlink_to(secret)
        (out / "page.html").symlink_to(secret)
        file.write_text("text")
    assert untouched(secret)


def test_a_link_in_place_of_the_folder_is_not_followed(out: Path, secret: Path, tmp_path: Path):
    with WholeFile(str(out / "page.html")) as file:
        out.rename(tmp_path / "moved")
        out.symlink_to(secret.parent)
        file.write_text("text")
    assert untouched(secret)
    assert (tmp_path / "moved" / "page.html").read_text() == "text"


def test_an_unfinished_file_that_is_gone_is_no_error(out: Path):
    with WholeFile(str(out / "page.html")):
        partial_in(out).unlink()
    assert os.listdir(out) == []


def test_what_is_removed_is_never_the_target_of_a_link(out: Path, secret: Path, tmp_path: Path):
    with OutputPlace(str(out / "trace.parquet")) as place:
        (out / "trace.parquet").symlink_to(secret)
        out.rename(tmp_path / "moved")
        out.symlink_to(secret.parent)
        place.remove()
        place.remove()
    assert untouched(secret)
    assert os.listdir(tmp_path / "moved") == []
