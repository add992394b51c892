"""Generated files say what the definitions say."""

import json

import pytest

from rvsim.errors import RvsimError
from rvsim.insn.isa import isa
from tools import manifest


@pytest.fixture(scope="module")
def records() -> dict[str, dict[str, object]]:
    return manifest.manifest()


def test_the_manifest_is_fresh(records: dict[str, dict[str, object]]) -> None:
    assert not manifest.stale(manifest.MANIFEST, manifest.manifest_text(records))


def test_the_reference_is_fresh(records: dict[str, dict[str, object]]) -> None:
    assert not manifest.stale(manifest.REFERENCE, manifest.reference_text(records))


def test_the_counts_in_the_readme_are_fresh(records: dict[str, dict[str, object]]) -> None:
    readme = manifest.README.read_text("utf-8")
    assert not manifest.stale(manifest.README, manifest.readme_text(readme, records))


def test_every_instruction_has_a_formula_or_is_refused(
    records: dict[str, dict[str, object]],
) -> None:
    assert set(records) == {insn.name for insn in isa().insns}
    without = {name for name, entry in records.items() if "formula" not in entry}
    assert without == {insn.name for insn in isa().insns if insn.unsupported}


def test_masks_and_matches_are_those_of_the_pattern() -> None:
    entries = json.loads(manifest.MANIFEST.read_text("utf-8"))
    assert (entries["add"]["mask"], entries["add"]["match"]) == ("0xfe00707f", "0x00000033")
    assert (entries["c.add"]["mask"], entries["c.add"]["match"]) == ("0xf003", "0x9002")
    assert entries["add"]["formula"] == "x[rd] = x[rs1] + x[rs2]"


def test_a_stale_file_is_summarised() -> None:
    lines = manifest.stale(manifest.REFERENCE, manifest.REFERENCE.read_text("utf-8") + "more\n")
    assert lines[0].startswith("docs/reference/instructions.md is stale, run:")
    assert lines[1:] == ["  +more"]


def test_only_the_text_between_the_markers_changes(records: dict[str, dict[str, object]]) -> None:
    text = f"above\n{manifest.BEGIN}\nold\n{manifest.END}\nbelow\n"
    new = manifest.readme_text(text, records)
    assert new.startswith("above\n")
    assert new.endswith("\nbelow\n")
    assert "old" not in new
    assert "| Xsmtvdot | SpacemiT IME: int8 matrix multiply-accumulate | 16 | 13 |" in new
    with pytest.raises(RvsimError, match="isa-counts"):
        manifest.readme_text("no markers", records)
