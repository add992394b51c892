"""Disassembly text equals clang's, and clang assembles it to the words it was made from.

Random legal operands of every instruction, in one file of assembly, go through clang twice: `cc -c`
gives the words, and the assembler's own printer (`-cc1as -filetype asm`, without aliases) gives the
text.  A line that clang refuses costs its own instruction its row and no other; few may be refused.
The printer writes numbers in decimal and branch offsets where objdump, whose text rvsim follows,
writes hex and addresses: numbers are compared by value, addresses have a test of their own.
"""

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from elftools.elf.elffile import ELFFile

from rvsim.config import MACHINE
from rvsim.insn.base.csrs import CSRS
from rvsim.insn.decode import Decoded, decode, problems
from rvsim.insn.disasm import assemble_text, disassemble, unwritten_fields
from rvsim.insn.encoding import FieldCode
from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.profiles import make_config
from rvsim.vec.vtype import VType

SAMPLES = 12
MOST_REFUSED = 8
"""Instructions that clang need not know: more, and this compares too little."""

TRIES = 4000
PROFILE = make_config("generic-rv64gcv")
CONFIG = replace(PROFILE, extensions=PROFILE.extensions | {MACHINE})
VTYPES = [
    vtype
    for sew in range(3, 7)
    for lmul in range(-3, 4)
    if (vtype := VType(sew, lmul)).supported(64)
]
INSNS = [insn for insn in isa().insns if insn.unsupported is None]
FEATURES = sorted(
    {ext for insn in INSNS for ext in (*insn.extensions, *insn.requires)} - {"i", "machine"}
)

NAMED_OTHERWISE = {
    ("pause", "fence w, 0"),  # to clang it is an alias
    ("c.addi zero, ", "c.nop "),  # a HINT
}
"""(ours, clang's): beginnings of text where the two have different names for one encoding."""


class Printed(NamedTuple):
    """What clang prints for a line: the text, and the bytes it encodes it to."""

    text: str
    code: bytes


def random_value(field: FieldCode, rng: random.Random) -> int:
    """Any value that the field can encode, in two of five draws its least or greatest."""
    if field.name == "csr":
        return rng.choice(sorted(CSRS))
    half = 1 << field.width - 1
    low, high = (-half, half - 1) if field.signed else (0, 2 * half - 1)
    if field.compact:
        low, high = 8, 15
    value = rng.choice([rng.randint(low, high)] * 3 + [low, high])
    return value - value % field.step


def is_legal(insn: Insn, fields: Mapping[str, int], vtype: VType) -> bool:
    try:
        word = insn.encoding.encode(fields)
    except ValueError:  # the encoding of another instruction
        return False
    return isa().find(word) is insn and not problems(insn, fields, vtype, CONFIG)


def samples(insn: Insn) -> Iterator[Decoded]:
    rng = random.Random(insn.name)
    unwritten = unwritten_fields(insn)
    found = 0
    for _ in range(TRIES):
        fields = {
            f.name: 0 if f.name in unwritten else random_value(f, rng) for f in insn.encoding.fields
        }
        if is_legal(insn, fields, rng.choice(VTYPES)):
            yield decode(insn.encoding.encode(fields), insn.length)
            found += 1
            if found == SAMPLES:
                return
    raise AssertionError(f"{insn.name}: {found} legal encodings in {TRIES} tries")


def zig(cache: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """A command of the ziglang package."""
    caches = {"ZIG_GLOBAL_CACHE_DIR": str(cache), "ZIG_LOCAL_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "ziglang", *args]
    return subprocess.run(
        command, env={**os.environ, **caches}, capture_output=True, text=True, check=False
    )


def as_source(path: Path, groups: Iterable[Sequence[str]]) -> Path:
    # exact: what is written is neither compressed nor relaxed
    path.write_text("\n".join((".option exact", *(line for group in groups for line in group), "")))
    return path


def print_source(source: Path) -> subprocess.CompletedProcess[str]:
    """What clang's assembler prints for it, or the errors."""
    features = [arg for name in FEATURES for arg in ("-target-feature", f"+{name}")]
    return zig(
        source.parent, "clang", "-cc1as", "-triple", "riscv64", *features, "-filetype", "asm",
        "-mllvm", "-riscv-no-aliases", "-show-encoding", str(source), "-o", "-",
    )  # fmt: skip


def refusals(folder: Path, texts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The names of what clang refuses, with the first error of each."""
    source = as_source(folder / "try.s", texts.values())
    owners = [name for name, group in texts.items() for _ in group]
    found: dict[str, str] = {}
    done = print_source(source)
    for line, error in re.findall(
        r"^[^\n]*try\.s:(\d+):\d+: (error: .*)$", done.stderr, re.MULTILINE
    ):
        found.setdefault(owners[int(line) - 2], error)  # after the option
    assert found or done.returncode == 0, done.stderr
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clang")


@pytest.fixture(scope="module")
def decoded() -> dict[str, list[Decoded]]:
    return {insn.name: list(samples(insn)) for insn in INSNS}


@pytest.fixture(scope="module")
def refused(decoded: dict[str, list[Decoded]], folder: Path) -> dict[str, str]:
    return refusals(folder, {n: [assemble_text(d) for d in g] for n, g in decoded.items()})


@pytest.fixture(scope="module")
def known(decoded: dict[str, list[Decoded]], refused: dict[str, str]) -> dict[str, list[Decoded]]:
    """What clang knows."""
    return {name: group for name, group in decoded.items() if name not in refused}


@pytest.fixture(scope="module")
def source(known: dict[str, list[Decoded]], folder: Path) -> Path:
    return as_source(folder / "all.s", ([assemble_text(d) for d in g] for g in known.values()))


@pytest.fixture(scope="module")
def printed(source: Path, known: dict[str, list[Decoded]]) -> dict[str, list[Printed]]:
    done = print_source(source)
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^\t(.*?)\s*# encoding: \[(.*)\]$", done.stdout, re.MULTILINE)
    assert len(lines) == sum(map(len, known.values()))
    both = iter(Printed(text, bytes(int(b, 16) for b in code.split(","))) for text, code in lines)
    return {name: [next(both) for _ in group] for name, group in known.items()}


def by_value(text: str) -> str:
    """Numbers in decimal, one blank between mnemonic and operands."""
    decimal = re.sub(r"(?<![\w.])0x[0-9a-f]+\b", lambda m: str(int(m[0], 16)), text)
    return " ".join(decimal.split())


def clang_name(text: str) -> str:
    for ours, theirs in NAMED_OTHERWISE:
        if text.startswith(ours):
            return theirs + text.removeprefix(ours)
    return text


@pytest.mark.parametrize("name", [insn.name for insn in INSNS])
def test_text_equals_what_clang_prints(
    name: str,
    decoded: dict[str, list[Decoded]],
    printed: dict[str, list[Printed]],
    refused: dict[str, str],
) -> None:
    if name in refused:
        pytest.skip(f"clang does not know {name}: {refused[name]}")
    for d, clang in zip(decoded[name], printed[name], strict=True):
        assert clang_name(by_value(assemble_text(d))) == by_value(clang.text)
        assert int.from_bytes(clang.code, "little") == d.word
        if "target" not in isa().by_name[name].syntax:
            assert disassemble(d) == assemble_text(d)


def test_clang_knows_almost_all_instructions(refused: dict[str, str]) -> None:
    assert len(refused) <= MOST_REFUSED, refused


def test_a_refused_line_costs_its_own_instruction_only(folder: Path) -> None:
    texts = {
        "add": ["add a0, a1, a2"],
        "no.such": ["no.such a0", "no.such a1"],
        "sub": ["sub a0, a1, a2"],
        "vadd.vv": ["vadd.vv v0, v1, v2", "vadd.vv v0, v1, a2"],
    }
    found = refusals(folder, texts)
    assert list(found) == ["no.such", "vadd.vv"]
    assert found["no.such"].startswith("error: unrecognized instruction mnemonic")


def test_an_object_file_holds_the_words(known: dict[str, list[Decoded]], source: Path) -> None:
    target = source.with_suffix(".o")
    cpu = "-mcpu=generic_rv64+" + "+".join(FEATURES)
    done = zig(
        source.parent, "cc", "-target", "riscv64-freestanding", cpu, "-c", str(source), "-o",
        str(target),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with target.open("rb") as stream:
        text = ELFFile(stream).get_section_by_name(".text").data()
    offset = 0
    for d in (d for group in known.values() for d in group):
        code = text[offset : offset + d.length]
        assert int.from_bytes(code, "little") == d.word, assemble_text(d)
        offset += d.length
    assert offset == len(text)


@pytest.mark.parametrize("insn", [i for i in INSNS if "target" in i.syntax], ids=lambda i: i.name)
def test_targets_are_addresses_that_wrap(insn: Insn, decoded: dict[str, list[Decoded]]) -> None:
    for d in decoded[insn.name]:
        for pc in (0, 0x10000, 2**64 - 2):
            text = disassemble(decode(d.word, d.length, pc))
            assert int(text.split()[-1], 16) == (pc + d.fields["imm"]) % 2**64


@pytest.mark.parametrize(
    ("word", "text", "assembly"),
    [
        (0x00000000, "unknown 0x0000", ".2byte 0x0000"),
        (0xFFFFFFFF, "unknown 0xffffffff", ".4byte 0xffffffff"),
        (0x0335000F, "fence rw, rw", ".4byte 0x0335000f"),  # rs1 is ignored, and has no text
        (0x0C80F057, "vsetvli zero, ra, e16, m1, ta, ma", None),
        (0x00C0F057, "vsetvli zero, ra, 0xc", None),  # LMUL code 4 is reserved
        (0xFF010113, "addi sp, sp, -0x10", None),
        (0x12345537, "lui a0, 0x12345", None),
        (0x757D, "c.lui a0, 0xfffff", None),
        (0x06B6252F, "amoadd.w.aqrl a0, a1, (a2)", None),
        (0xE2103E2B, "smt.vmadot v28, v0, v1", None),
    ],
)
def test_objdump_texts(word: int, text: str, assembly: str | None) -> None:
    d = decode(word, 4 if word & 3 == 3 else 2)
    assert disassemble(d) == text
    assert assemble_text(d) == (text if assembly is None else assembly)
