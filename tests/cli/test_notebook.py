"""A run as a notebook shows it, read as a document."""

from __future__ import annotations

from xml.etree import ElementTree

from rvsim.host.notebook import run_as_html
from rvsim.machine import Machine
from rvsim.toolchain import build_kernel
from tests.cli.programs import elf, exit_with, write


def tables(html: str) -> list[dict[str, list[str]]]:
    """The rows of each table, by their first cell."""
    rows = [[tr for tr in table.iter("tr")] for table in ElementTree.fromstring(html).iter("table")]
    cells = [[[td.text or "" for td in tr.iter("td")] for tr in table] for table in rows]
    return [{first: rest for first, *rest in table} for table in cells]


def test_a_run_with_cycles() -> None:
    machine = Machine(cost="x60")
    machine.load(build_kernel("gemm_tile_s8"))
    result = machine.run(max_insns=20_000)
    totals, stalls = tables(result._repr_html_())
    assert totals["instructions"] == ["20,000"]
    assert totals["cycles"] == [f"{result.cycle:,}"]
    cycles = sum(int(row[0].replace(",", "")) for row in stalls.values())
    assert abs(cycles - result.cycle) <= len(stalls) / 2
    assert list(stalls)[-1] == "other"
    assert "limit max_insns reached" in result._repr_html_()


def test_what_was_spent_is_not_told_of_a_machine_that_has_run_on() -> None:
    machine = Machine(cost="x60")
    machine.load(build_kernel("gemm_tile_s8"))
    result = machine.run(max_insns=1000)
    machine.run(max_insns=1000)
    assert len(tables(result._repr_html_())) == 1


def test_output_is_text_and_its_end_is_shown() -> None:
    machine = Machine()
    machine.load(elf([*write(1, 6), *exit_with(3)], b"a <b>\n"))
    page = ElementTree.fromstring(machine.run()._repr_html_())
    assert page.findtext("pre") == "a <b>"
    assert "exit 3" in (page.findtext("p/strong") or "")
    long = run_as_html("x", {}, {}, b"".join(b"%d\n" % i for i in range(40)))
    shown = (ElementTree.fromstring(long).findtext("pre") or "").split("\n")
    assert (shown[0], shown[-1], len(shown)) == ("…", "39", 13)
