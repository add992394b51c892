"""The fuzzers that ``tools/fuzz.py`` runs."""

from __future__ import annotations

import pytest

from rvsim.host.processor import VARIABLE, usable_hosts
from tools import fuzz, fuzzers
from tools.fuzzers import syscalls


@pytest.mark.parametrize("name", ["addresses", "elves", "instructions", "programs", "syscalls"])
def test_a_few_seeds_of_each(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = usable_hosts()[-1]
    monkeypatch.setenv(VARIABLE, host)
    assert fuzz.main([name, "--host", host, "--seed", "5", "--count", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{name}: for {host}, from seed 5"
    assert lines[-1].startswith(f"{name}: 2 seeds in ")


def test_a_finding_says_how_to_see_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)

    def one(seed: int) -> None:
        assert seed < 7

    with pytest.raises(AssertionError) as caught:
        fuzzers.fuzz("some", "", one, ["--seed", "3"])
    (note,) = caught.value.__notes__
    assert note.endswith("again: python tools/fuzz.py some --host native --seed 7 --count 1")


def test_an_unknown_fuzzer_is_refused_with_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["nothing"]) == 2
    assert "NAME is one of " in capsys.readouterr().err
    assert {"instructions", "programs", "syscalls"} <= set(fuzz.names())


def test_a_case_that_has_moved_files_about_leaves_no_trace_in_the_next() -> None:
    """A folder in place of a file, and a link that leads out of what is granted."""
    host = syscalls.Host()
    host.fill()
    file, sub = host.granted / "file", host.granted / "sub"
    content = file.read_bytes()
    file.unlink()
    sub.rename(file)
    (file / "deep").rename(host.granted / "deep")
    sub.mkdir()
    (host.granted / "deep").rename(sub / "deep")
    host.fill()
    assert file.read_bytes() == content
    file.unlink()
    file.symlink_to(host.root / "secret")
    host.fill()
    assert not file.is_symlink()
    assert host.is_unharmed()
    host.remove()
