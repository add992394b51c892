"""``rvsim build``, ``dis``, ``list``, ``doctor`` and what comes before any command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rvsim import __version__
from rvsim.cli.group import COMMANDS
from rvsim.toolchain import build_kernel, find_kernel
from tests.cli.conftest import Cli
from tests.cli.programs import E8_M1, elf, exit_with, vset

Program = Callable[..., str]


def test_version_imports_neither_numpy_nor_rich() -> None:
    script = (
        "import sys; from rvsim import cli; code = cli.run(['--version']);"
        "print(code, sorted({'numpy', 'rich', 'llvmlite', 'elftools'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == f"rvsim {__version__}\n0 []\n"


def test_help_names_every_command(rvsim: Cli) -> None:
    result = rvsim("--help")
    assert (result.code, result.err) == (0, "")
    for command in COMMANDS:
        assert f"\n  {command} " in result.out
        assert rvsim(command, "--help").out.startswith(f"Usage: rvsim {command} ")


def test_nothing_asked_for_shows_the_help(rvsim: Cli) -> None:
    result = rvsim()
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("Usage: rvsim ")


# -- build


def test_build_a_kernel(rvsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert rvsim("build", "memops").out == "memops.elf\n"
    assert rvsim("build", "memops.elf", "-o", "other").out == "other\n"
    assert Path("memops.elf").read_bytes() == Path("other").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["memops.elf", "other"]


def test_build_c(rvsim: Cli, tmp_path: Path) -> None:
    source, out = tmp_path / "nine.c", tmp_path / "nine"
    source.write_text("int main(void) { return 9; }\n")
    assert rvsim("build", source, "-o", out).out == f"{out}\n"
    assert rvsim("run", out).code == 9


def test_compiler_error_is_the_compilers(rvsim: Cli, tmp_path: Path) -> None:
    source, out = tmp_path / "bad.c", tmp_path / "bad.elf"
    source.write_text("int main(void) { return x; }\n")
    result = rvsim("build", source, "-o", out)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"{source}:1:25: error: use of undeclared identifier 'x'\n")
    assert not out.exists()


def test_build_a_folder_as_the_bundled_kernels_are(
    rvsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    copied = rvsim("build", "gemm_tile_s8_u4", "--sources", "new/mine")
    names = ("gemm.c", "gemm.h", "main.c", "scalar.c")
    assert copied.out.splitlines() == [f"new/mine/{name}" for name in names]
    assert copied.err == "rvsim: note: to build them: rvsim build new/mine -D UNROLL=4\n"
    assert rvsim("build", "new/mine", "-D", "UNROLL=4").out == "mine.elf\n"
    kernel = find_kernel("gemm_tile_s8_u4")
    same_code = [code_of(rvsim, file) for file in ("mine.elf", str(build_kernel(kernel.name)))]
    assert same_code[0] == same_code[1]
    rvsim("build", "new/mine", "-o", "other.elf")
    assert code_of(rvsim, "other.elf") != same_code[0]
    assert rvsim("run", "mine.elf").out.startswith("mine: vlen 256\nPASS tokens 1\n")


def code_of(rvsim: Cli, file: str) -> list[str]:
    """The mnemonics of the tile: its addresses depend on how long the program's name is."""
    text = rvsim("dis", file).out.partition("<gemm_tile_s8_x1>:")[2].partition("<main>:")[0]
    return [line.split()[2] for line in text.splitlines() if len(line.split()) > 2]


def test_macros_of_a_kernel_and_of_files(
    rvsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.c").write_text("int main(void) { return FIRST - SECOND; }\n")
    assert rvsim("build", "a.c", "-D", "FIRST=9", "-D", "SECOND").out == "a.elf\n"
    assert rvsim("run", "a.elf").code == 8
    assert rvsim("build", "gemm_tile_s8", "-D", "UNROLL=4", "-o", "u4.elf").out == "u4.elf\n"
    assert code_of(rvsim, "u4.elf") == code_of(rvsim, str(build_kernel("gemm_tile_s8_u4")))


def test_sources_are_not_overwritten(
    rvsim: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/main.c").write_text("// work of days\n")
    result = rvsim("build", "memops", "--sources", "mine")
    assert result.err == "rvsim: mine/main.c exists already: choose a new folder\n"
    assert [(p.name, p.read_text()) for p in Path("mine").iterdir()] == [
        ("main.c", "// work of days\n")
    ]


BAD_BUILDS = {
    (".",): "there is no C or assembly file in .",
    ("memops", "--sources", "x", "-o", "y"): (
        "--sources builds nothing: it goes with no other option"
    ),
    ("memop", "--sources", "x"): "unknown kernel 'memop': did you mean 'memops'?",
    ("none.c",): "no such source file: none.c",
    ("memop",): "unknown kernel 'memop': did you mean 'memops'?",
    ("memops", "gemm_tile_s8"): "memops gemm_tile_s8: one kernel at a time",
    ("a.c", "memops"): "memops is no C or assembly file: name kernels alone",
    ("memops", "-o", "no/folder/x"): "cannot write no/folder/x: No such file or directory",
}


@pytest.mark.parametrize("args", BAD_BUILDS)
def test_bad_build(
    rvsim: Cli, args: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = rvsim("build", *args)
    assert (result.code, result.out, result.err) == (2, "", f"rvsim: {BAD_BUILDS[args]}\n")


# -- dis


def test_dis_words(rvsim: Cli) -> None:
    assert rvsim("dis", "0x32440257", "4501", "00000013", "0x0").out == (
        "       0:  32440257  vrgather.vv v4, v4, v8\n"
        "       4:  4501      c.li a0, 0x0\n"
        "       6:  00000013  addi zero, zero, 0x0\n"
        "       a:  0000      .2byte 0x0000\n"
    )


def test_dis_file_without_sections(rvsim: Cli, tmp_path: Path) -> None:
    file = tmp_path / "prog.elf"
    file.write_bytes(elf([vset(E8_M1), *exit_with(0)]))
    assert rvsim("dis", file).out == (
        "section without a name\n"
        "   10000:  cc0ff057  vsetivli zero, 0x1f, e8, m1, ta, ma\n"
        "   10004:  00000513  addi a0, zero, 0x0\n"
        "   10008:  05d00893  addi a7, zero, 0x5d\n"
        "   1000c:  00000073  ecall\n"
        "\n"
    )


def test_dis_file(rvsim: Cli, tmp_path: Path) -> None:
    file = tmp_path / "ime.elf"
    assert rvsim("build", "gemm_tile_ime", "-o", file).code == 0
    out = rvsim("dis", file).out
    assert out.startswith("section .text\n")
    assert " <main>:\n" in out
    assert "  smt.vmadot v" in out
    assert ".4byte" not in out


BAD_WORDS = {
    "none.elf": "'none.elf' is neither a file nor an instruction word in hex",
    "0x1ffffffff": "0x1ffffffff has more than 32 bits",
    "12345": "'12345' is neither a file nor an instruction word in hex",
    "0x45014501": (
        "0x45014501 is not one instruction: its low bits 00001 do not begin an encoding of"
        " 32 bits: write its two halves apart, the low one first"
    ),
}


@pytest.mark.parametrize("word", BAD_WORDS)
def test_bad_word(rvsim: Cli, word: str) -> None:
    result = rvsim("dis", word)
    assert (result.code, result.out, result.err) == (2, "", f"rvsim: {BAD_WORDS[word]}\n")


# -- list and doctor


def test_list_cpus(rvsim: Cli) -> None:
    lines = rvsim("list", "cpus").out.splitlines()
    assert lines[0].split() == ["cpu", "VLEN", "misaligned", "vectors", "core"]
    assert lines[1].startswith("spacemit-x60      256  fault  ")
    assert lines[2].split()[:4] == ["generic-rv64gcv", "256", "work", "-"]


def test_list_isa(rvsim: Cli) -> None:
    rows = {line.split()[0]: line for line in rvsim("list", "isa").out.splitlines()}
    assert rows["zba"].split()[1:] == ["8", "yes", "yes", "address", "generation"]
    assert rows["zbkb"].split()[2:4] == ["-", "yes"]
    assert [line.split()[0] for line in rvsim("list", "isa", "zicond").out.splitlines()] == [
        "instruction",
        "czero.eqz",
        "czero.nez",
    ]


def test_list_cores(rvsim: Cli) -> None:
    assert rvsim("list", "cores").out.splitlines()[1] == "x60   SpacemiT X60"
    rows = {
        line.split()[0]: line.split() for line in rvsim("list", "cores", "x60").out.splitlines()
    }
    assert rows["number"] == ["number", "value", "source"]
    assert rows["l1d.size"][1:4] == ["32768", "measured", "torvalds/linux"]
    assert rows["vset.branch"][2] == "guessed"


def test_list_kernels(rvsim: Cli) -> None:
    out = rvsim("list", "kernels").out
    assert all(f"\n{name} " in out for name in ("gemm_tile_ime", "gemm_tile_s8", "memops"))


BAD_LISTS = {
    (
        "zoo",
    ): "invalid value for '{isa|cpus|cores|kernels}': 'zoo' is not one of 'isa', 'cpus', 'cores',"
    " 'kernels'",
    ("isa", "zbba"): "unknown extension 'zbba': did you mean 'zbb'?",
    ("cores", "x61"): "unknown core 'x61': did you mean 'x60'?",
    ("cpus", "x"): "rvsim list cpus takes no argument",
}


@pytest.mark.parametrize("args", BAD_LISTS)
def test_bad_list(rvsim: Cli, args: tuple[str, ...]) -> None:
    result = rvsim("list", *args)
    assert result.code == 2
    assert result.err.startswith("rvsim: ")
    assert result.err == f"rvsim: {BAD_LISTS[args]}\n"


def test_doctor(rvsim: Cli) -> None:
    result = rvsim("doctor")
    assert result.code == 0
    lines = result.out.splitlines()
    assert [line[:15].strip() for line in lines] == [
        "host",
        "numpy",
        "llvmlite",
        "compiled for",
        "compiled code",
        "cross compiler",
        "QEMU",
    ]
    assert all(line[16:18] == "ok" for line in lines[:6])
