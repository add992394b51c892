"""Commands that count cycles: their text, their JSON, and what they refuse.

The programs are so short, and the core's caches and predictor so perfect (`flat_core.toml`), that
their cycles follow by hand from few numbers: two instructions a cycle, an addition takes 1 cycle
and a multiplication 5.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.cli.programs import A0, A1, E8_M1, FOREVER, exit_with, li, vset, write
from tests.program.bare import Step, step
from tests.program.bare_images import build

Program = Callable[..., str]
FLAT = ("--core-set", str(Path(__file__).with_name("flat_core.toml")))
ENGINES = ("jit", "numpy")

MULTIPLICATIONS: Sequence[Step] = (
    li(A0, 10),
    step("mul", rd=A1, rs1=A1, rs2=A1),
    step("addi", rd=A0, rs1=A0, imm=-1),
    step("bne", rs1=A0, rs2=0, imm=-8),
)
"""The first multiplication issues in cycle 0, the tenth in 45, the last branch in 46.

A branch goes with the cycle behind its subtraction, which goes with the multiplication: that is 10
times issue.  In the first round alone the subtraction comes in cycle 1, the branch waits for it
until 2, and the next multiplication 3 cycles more; each of the other eight waits for 4.
"""

ANNOTATED = """\
[unknown]: 51 cycles, 100.0 % of the program's 51

   executed      cycles   share  mostly waits for     address  instruction
          1           0   0.0 %                         10000  addi a0, zero, 0xa
         10          35  68.6 %  raw:mul 100.0 %  .-    10004  mul a1, a1, a1
         10           1   2.0 %                   |     10008  addi a0, a0, -0x1
         10          10  19.6 %  raw:alu 10.0 %   '-    1000c  bne a0, zero, 0x10004
          1           0   0.0 %                         10010  addi a0, zero, 0x0
          1           0   0.0 %                         10014  addi a7, zero, 0x5d
          0           5   9.8 %  drain 80.0 %           10018  ecall

loop 10004-10010: 10 iterations of 4.60 cycles
bound            cycles
issue width        1.50
vector unit        0.00
load/store unit    0.00
scalar units       3.00
dependences        5.00  10004 mul a1, a1, a1
  limited by: dependences
"""

CYCLES = """\
              total
cycles           46  28.8 ns at 1.6 GHz in 0x10000-0x10010
instructions     31  0.67 a cycle

cycles spent on  cycles   share
issue                10  21.7 %  #########
dependences          36  78.3 %  ###############################
  raw:mul            35  76.1 %
  raw:alu             1   2.2 %
"""

COMPARED = """\
                      prog  shorter
cycles                  51       41
times the best        1.24     1.00
instructions            33       27
instructions a cycle  0.65     0.66
issue                   11        9
raw:mul                 35       27
raw:alu                  1        1
drain                    4        4

shorter wins
prog takes 10 cycles more (1.24 times), mostly for raw:mul (8) and issue (2); it executes 6\
 instructions more
"""


@pytest.fixture
def file(program: Program) -> str:
    return program(*MULTIPLICATIONS)


@pytest.mark.parametrize("engine", ENGINES)
def test_annotate(rvsim: Cli, file: str, engine: str) -> None:
    result = rvsim("annotate", file, *FLAT, "--engine", engine)
    assert (result.code, result.out, result.err) == (0, ANNOTATED, "")


@pytest.mark.parametrize("engine", ENGINES)
def test_run_shows_cycles_of_a_region_on_stderr(rvsim: Cli, file: str, engine: str) -> None:
    region = ("--roi", "0x10000-0x10010")
    result = rvsim("run", "--cycles", file, *FLAT, *region, "--engine", engine)
    assert (result.code, result.out, result.err) == (0, "", CYCLES)


@pytest.mark.parametrize("engine", ENGINES)
def test_compare(rvsim: Cli, program: Program, file: str, engine: str) -> None:
    shorter = program(li(A0, 8), *MULTIPLICATIONS[1:], name="shorter.elf")
    result = rvsim("compare", file, shorter, *FLAT, "--engine", engine)
    assert (result.code, result.out, result.err) == (0, COMPARED, "")


def test_compare_of_equals_has_no_winner(rvsim: Cli, file: str) -> None:
    assert rvsim("compare", file, file).out.endswith("\nall take as long\n")


def test_compare_of_many_keeps_its_numbers_whole(rvsim: Cli, program: Program) -> None:
    """Where the columns do not fit side by side, more tables follow."""
    files = [program(*MULTIPLICATIONS, name=f"{i}_{'x' * 30}.elf") for i in range(4)]
    lines = rvsim("compare", *files, *FLAT).out.splitlines()
    assert max(map(len, lines)) <= 120
    rows = [line.split() for line in lines if line.startswith("cycles ")]
    assert rows == [["cycles", "51", "51"], ["cycles", "51", "51"]]


def test_function_that_did_not_run(rvsim: Cli, file: str) -> None:
    result = rvsim("annotate", file, "0x100-0x200")
    assert result.code == 0
    assert result.out.startswith("0x100-0x200: 0 cycles, 0.0 % of the program's ")
    assert result.err == "rvsim: note: no instruction of 0x100-0x200 was executed\n"


def test_a_program_that_traps_is_profiled_up_to_there(rvsim: Cli, program: Program) -> None:
    result = rvsim("profile", program(li(A0, 1), step("ebreak")), *FLAT)
    assert result.code == 128 + signal.SIGTRAP
    assert result.out.splitlines()[1].endswith("[unknown]")
    assert result.err.startswith("rvsim: breakpoint at 0x10004")


def test_cycles_beside_a_trace_and_statistics(rvsim: Cli, file: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = rvsim("run", "--cycles", "--stats", file, *FLAT, "--trace", f"spike:{log}")
    assert result.code == 0
    assert "cycles           51 " in result.err
    assert len(log.read_text().splitlines()) == 33


def test_regions_add_up(rvsim: Cli, file: str) -> None:
    regions = ("--roi", "10000-10008", "--roi", "0x10008-10010")
    assert cycles_of(rvsim("run", "--cycles", file, *FLAT, *regions, "--json", "-").out) == 46


def cycles_of(text: str) -> float:
    found = json.loads(text)["cycles"]["cycles"]
    assert isinstance(found, float)
    return found


def test_overlapping_regions_count_once(rvsim: Cli, file: str) -> None:
    regions = ("--roi", "10000-10010", "--roi", "10004-10010")
    assert cycles_of(rvsim("run", "--cycles", file, *FLAT, *regions, "--json", "-").out) == 46


def test_cycles_of_a_run_that_does_not_end(rvsim: Cli, program: Program) -> None:
    result = rvsim("run", "--cycles", program(FOREVER), *FLAT, "--max-insns", "1000")
    assert result.code == 124
    assert "limit --max-insns 1000 reached" in result.err
    assert "instructions  1,000" in result.err


def test_profile_without_symbols(rvsim: Cli, file: str) -> None:
    result = rvsim("profile", file, *FLAT)
    assert result.code == 0
    assert result.out.splitlines()[1] == "    51  100.0 %        33  raw:mul 68.6 %    [unknown]"


# -- the guest's output and exit code


@pytest.mark.parametrize("command", ["profile", "annotate"])
def test_output_of_the_program_goes_to_stderr(rvsim: Cli, program: Program, command: str) -> None:
    result = rvsim(command, program(*write(1, 3), *exit_with(7), data=b"out"))
    assert (result.code, result.err) == (7, "out")
    assert "out" not in result.out


def test_compare_shows_output_of_programs_that_fail(rvsim: Cli, program: Program) -> None:
    bad = program(*write(1, 3), *exit_with(7), data=b"no\n", name="bad.elf")
    good = program(*write(1, 3), data=b"ok\n", name="good.elf")
    result = rvsim("compare", bad, good)
    assert result.code == 1
    assert (
        result.err == f"no\nrvsim: note: {bad} ended with exit code 7: its cycles may mean little\n"
    )


# -- JSON


def test_json_of_a_run(rvsim: Cli, file: str) -> None:
    found = json.loads(rvsim("run", file, "--cycles", *FLAT, "--json", "-").out)
    assert found["schema"] == 1
    assert found["cycles"] == {
        "core": "SpacemiT X60",
        "regions": [],
        "cycles": 51.0,
        "instructions": 33,
        "ipc": 33 / 51,
        "lanes": {"used": 0, "paid": 0},
        "macs": {"count": 0, "per_cycle": 0.0, "peak_per_cycle": 0.0, "share_of_peak": 0.0},
        "stalls": {"issue": 11.0, "raw:alu": 1.0, "raw:mul": 35.0, "drain": 4.0},
        "groups": {"issue": 11.0, "dependences": 36.0, "drain": 4.0},
        "unknown": {},
    }


def test_a_run_without_cycles_has_none_in_json(rvsim: Cli, file: str) -> None:
    assert json.loads(rvsim("run", file, "--json", "-").out)["cycles"] is None


def test_json_of_profile(rvsim: Cli, file: str, tmp_path: Path) -> None:
    out = tmp_path / "profile.json"
    result = rvsim("profile", file, *FLAT, "--json", out)
    found = json.loads(out.read_text())
    assert (found["schema"], found["command"], found["cycles"]) == (1, "profile", 51.0)
    assert [part["cycles"] for part in found["functions"]] == [51.0]
    assert found["lines"][0]["stalls"] == found["stalls"]
    assert "[unknown]" in result.out


def test_json_of_annotate(rvsim: Cli, file: str) -> None:
    found = json.loads(rvsim("annotate", file, *FLAT, "--json", "-").out)
    assert (found["schema"], found["command"]) == (1, "annotate")
    assert found["instructions_by_address"][1] == {
        "pc": 0x10004,
        "text": "mul a1, a1, a1",
        "executions": 10,
        "cycles": 35.0,
        "stalls": {"raw:mul": 35.0},
        "file": None,
        "line": None,
    }
    (loop,) = found["loops"]
    assert (loop["head"], loop["end"], loop["iterations"]) == (0x10004, 0x10010, 10)
    assert (loop["binding"], loop["chain"]) == ("dependences", [0x10004])


def test_json_of_compare(rvsim: Cli, program: Program, file: str) -> None:
    shorter = program(li(A0, 8), *MULTIPLICATIONS[1:], name="shorter.elf")
    found = json.loads(rvsim("compare", file, shorter, *FLAT, "--json", "-").out)
    assert (found["schema"], found["command"], found["best"]) == (1, "compare", 1)
    assert [(p["file"], p["cycles"]) for p in found["programs"]] == [(file, 51.0), (shorter, 41.0)]
    reasons = {"raw:mul": 8.0, "issue": 2.0}
    assert found["differences"] == [
        {"factor": 51 / 41, "cycles": 10.0, "instructions": 6, "reasons": reasons},
        {"factor": 1.0, "cycles": 0.0, "instructions": 0, "reasons": {}},
    ]


# -- what is refused


GENERIC_AS_X60 = ("--cpu", "generic-rv64gcv", "--core", "x60")
NOT_ITS_CORE = (
    "rvsim: note: cycles are those of SpacemiT X60, which is not the core of generic-rv64gcv\n"
)
AES: Sequence[Step] = (vset(E8_M1 | 0b010_000, 4), step("vaesz.vs", vd=8, vs2=4))


@pytest.mark.parametrize(
    "command", [("run", "--cycles"), ("profile",), ("annotate",), ("compare",)]
)
def test_no_total_with_an_unknown_class(
    rvsim: Cli, program: Program, command: tuple[str, ...]
) -> None:
    result = rvsim(*command, program(*AES), *GENERIC_AS_X60)
    assert (result.code, result.out) == (1, "")
    assert result.err == NOT_ITS_CORE + (
        "rvsim: no total: SpacemiT X60 has no numbers for vaesz.vs (1 executed):"
        " --allow-unknown counts 0 cycles for them\n"
    )


@pytest.mark.parametrize(
    "command", [("run", "--cycles"), ("profile",), ("annotate",), ("compare",)]
)
def test_unknown_classes_may_be_allowed(
    rvsim: Cli, program: Program, command: tuple[str, ...]
) -> None:
    result = rvsim(*command, program(*AES), *GENERIC_AS_X60, "--allow-unknown")
    assert result.code == 0
    note = "rvsim: note: SpacemiT X60 has no numbers for vaesz.vs (1 executed): 0 cycles\n"
    assert result.err.startswith(NOT_ITS_CORE + note)


def test_an_unknown_class_outside_of_the_region_does_not_matter(
    rvsim: Cli, program: Program
) -> None:
    outside = ("--roi", "10000-10004", *GENERIC_AS_X60)
    assert rvsim("run", "--cycles", program(*AES), *outside).code == 0


def test_a_core_of_ones_own(rvsim: Cli, file: str) -> None:
    """Ten multiplications that wait for each other, three cycles each in place of five."""
    own = Path(__file__).parents[1] / "cost" / "cores" / "wide1024.toml"
    cycles = []
    for options in ((), ("--core", str(own))):
        result = rvsim("run", "--cycles", file, *options)
        assert result.code == 0
        cycles.append(int(re.search(r"^cycles +(\d+)", result.err, re.M)[1]))  # type: ignore[index]
    assert cycles[0] - cycles[1] == 9 * 2
    assert "cycles are those of Wide 1024, which is not the core of spacemit-x60\n" in result.err
    assert "at 2.4 GHz" in result.err


@pytest.mark.parametrize(
    "command", [("run", "--cycles"), ("profile",), ("annotate",), ("compare",), ("timeline",)]
)
def test_a_cpu_without_a_core_has_no_cycles(
    rvsim: Cli, file: str, command: tuple[str, ...]
) -> None:
    result = rvsim(*command, file, "--cpu", "generic-rv64gcv")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "rvsim: there are no cycles of generic-rv64gcv: no core has its numbers:"
        " --core x60 counts those of an X60 instead; rvsim list cores has all\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--roi", "mian"], "there is no symbol 'mian': write a function's name, or addresses as in"
         " 0x1000-0x1040"),
        (["--roi", "20-10"], "the region 20-10 is empty: write START-END, END not included"),
        (["--core", "x6"], "unknown core 'x6': did you mean 'x60'?"),
        (["--core-set", "l1d.siz=64K"], "unknown number 'l1d.siz' of a core: did you mean"
         " 'l1d.size'?"),
        (["--core-set", "l1d.size=3K"], "core x60: l1d.size = 3072 is not a power of two"),
        (["--core-set", "no.toml"], "can't read no.toml: No such file or directory"),
    ],
)  # fmt: skip
def test_bad_options(rvsim: Cli, file: str, options: list[str], message: str) -> None:
    result = rvsim("run", "--cycles", file, *options)
    assert (result.code, result.out, result.err) == (2, "", f"rvsim: {message}\n")


@pytest.mark.parametrize(
    "options", [("--roi", "0-8"), ("--core", "x60"), ("--core-set", "l1d.ways=8"),
                ("--allow-unknown",)],
)  # fmt: skip
def test_options_of_cycles_need_cycles_or_a_trace(
    rvsim: Cli, file: str, options: tuple[str, ...]
) -> None:
    result = rvsim("run", file, *options)
    assert (result.code, result.err) == (2, f"rvsim: {options[0]} needs --cycles or --trace\n")


def test_annotate_takes_one_region(rvsim: Cli, file: str) -> None:
    result = rvsim("annotate", file, "10000-10008", "--roi", "10000-10008")
    assert result.code == 2
    assert result.err == "rvsim: name a FUNCTION or give --roi, not both\n"


def test_a_region_that_was_not_executed(rvsim: Cli, file: str) -> None:
    result = rvsim("run", "--cycles", file, "--roi", "0x100-0x200")
    assert result.code == 0
    assert "rvsim: note: no instruction of 0x100-0x200 was executed\n" in result.err


def test_no_command_writes_escapes_into_a_pipe(
    rvsim: Cli, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    for command in (("run", "--cycles"), ("profile",), ("annotate",), ("compare",)):
        result = rvsim(*command, file, *FLAT)
        assert result.code == 0
        assert "\x1b" not in result.out + result.err


@pytest.mark.parametrize("engine", ENGINES)
def test_bare_metal_image(rvsim: Cli, engine: str) -> None:
    """A store to tohost is an instruction like any other, and the last one."""
    image = build("li a0, 3\n1: addi a0, a0, -1\n bnez a0, 1b\n finish 0")
    found = json.loads(rvsim("annotate", image, *FLAT, "--engine", engine, "--json", "-").out)
    assert [loop["iterations"] for loop in found["loops"]] == [3]
    assert found["cycles"] == sum(site["cycles"] for site in found["instructions_by_address"])
