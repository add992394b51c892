"""``tools/run_suite.py``: a folder of programs, verdicts, JSON and JUnit."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.programs import elf, exit_with
from tests.program.bare import step
from tests.program.bare_images import build
from tools import run_suite

FOREVER = step("jal", rd=0, imm=0)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Programs that pass and fail, bare metal and Linux, beside files that are neither."""
    folder = tmp_path / "suite"
    (folder / "linux").mkdir(parents=True)
    shutil.copy(build("finish 0"), folder / "rv64ui-p-add")
    shutil.copy(build("finish 3"), folder / "rv64ui-p-sub")
    shutil.copy(build("ld a0, (zero)"), folder / "rv64um-p-mul")
    (folder / "linux" / "good").write_bytes(elf(exit_with(0)))
    (folder / "linux" / "bad").write_bytes(elf(exit_with(9)))
    (folder / "rv64ui-p-add.dump").write_text("a dump")
    (folder / "empty").write_bytes(b"")
    return folder


def test_the_table_counts_by_suite_and_names_what_failed(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_suite.main([str(suite), "--jobs", "2"]) == 1
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines() if not line.startswith("FAIL")] == [
        ["suite", "pass", "fail", "timeout", "error"],
        ["linux", "1", "1", "-", "-"],
        ["rv64ui", "1", "1", "-", "-"],
        ["rv64um", "-", "1", "-", "-"],
        ["all", "2", "3", "-", "-"],
    ]
    assert "FAIL linux/bad: exit code 9\n" in out
    assert "FAIL rv64ui-p-sub: test 3 failed (tohost = 0x7)\n" in out
    assert "FAIL rv64um-p-mul: load fault at 0x80000000" in out
    assert err == ""  # no bar where there is no terminal


def test_programs_that_all_pass_make_exit_code_0(suite: Path) -> None:
    assert run_suite.main([str(suite / "rv64ui-p-add"), str(suite / "linux" / "good")]) == 0


def test_results_are_written_as_json_and_junit(suite: Path, tmp_path: Path) -> None:
    as_json, as_junit = tmp_path / "out.json", tmp_path / "out.xml"
    options = ["--vlen", "512", "--json", str(as_json), "--junit", str(as_junit)]
    assert run_suite.main([str(suite), *options]) == 1

    content = json.loads(as_json.read_text())
    assert content["counts"] == {"pass": 2, "fail": 3, "timeout": 0, "error": 0}
    assert content["settings"]["vlen"] == 512
    results = {r["name"]: r for r in content["results"]}
    assert list(results) == sorted(results)
    assert (results["rv64ui-p-add"]["verdict"], results["rv64ui-p-add"]["instret"]) == ("pass", 4)
    assert (results["rv64ui-p-sub"]["verdict"], results["rv64ui-p-sub"]["exit_code"]) == ("fail", 3)

    root = ET.parse(as_junit).getroot()
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuite", "5", "3")
    cases = {case.get("name"): case for case in root}
    assert cases["rv64ui-p-add"].find("failure") is None
    assert cases["rv64ui-p-add"].get("classname") == "rv64ui"
    failure = cases["rv64ui-p-sub"].find("failure")
    assert failure is not None
    assert failure.get("message") == "test 3 failed (tohost = 0x7)"


def test_a_program_that_never_ends_is_a_timeout(tmp_path: Path) -> None:
    (tmp_path / "forever").write_bytes(elf([FOREVER]))
    out = tmp_path / "out.json"
    assert run_suite.main([str(tmp_path), "--timeout", "0.2", "--json", str(out)]) == 1
    [result] = json.loads(out.read_text())["results"]
    assert (result["verdict"], result["why"]) == ("timeout", "still running at 0x10000")


def test_a_program_that_cannot_be_loaded_is_an_error_of_its_own(tmp_path: Path) -> None:
    whole = elf(exit_with(0))
    (tmp_path / "good").write_bytes(whole)
    (tmp_path / "truncated").write_bytes(whole[:100])
    out = tmp_path / "out.json"
    assert run_suite.main([str(tmp_path), "--json", str(out)]) == 1
    good, truncated = json.loads(out.read_text())["results"]
    assert (good["verdict"], truncated["verdict"]) == ("pass", "error")
    assert "truncated" in truncated["why"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["/no/such/folder"], "/no/such/folder does not exist"),
        ([__file__], "is not a RISC-V executable"),
        ([str(Path(__file__).parent / "libc")], "no RISC-V executable"),
        ([__file__, "--vlen", "100"], "VLEN 100"),
    ],
)
def test_bad_arguments_are_named(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_suite.main(arguments) == 2
    assert text in capsys.readouterr().err


def test_a_result_that_cannot_be_written_is_no_pass(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_suite.main([str(suite / "rv64ui-p-add"), "--json", "/no/such/folder/x"]) == 2
    assert "cannot write /no/such/folder/x: No such file" in capsys.readouterr().err


def test_output_that_xml_cannot_hold_is_replaced() -> None:
    assert run_suite.xml_text("a\x1b[0m\n\ud800é") == "a?[0m\n?é"
