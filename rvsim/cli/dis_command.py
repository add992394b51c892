"""``rvsim dis``: an executable's code, or instruction words, as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from rvsim.errors import RvsimError
from rvsim.printable import printable

if TYPE_CHECKING:
    from rvsim.guest.elf import Image
    from rvsim.hart.memory import Memory
    from rvsim.insn.decode import Decoded


@click.command(short_help="Disassemble an executable or instruction words.")
@click.argument("what", nargs=-1, required=True, metavar="FILE|WORD...")
def command(what: tuple[str, ...]) -> int:
    """Disassemble the executable sections of a FILE, or WORDs in hex, lowest address first."""
    from rvsim.cli.words import is_word

    if not all(is_word(w) and not Path(w).exists() for w in what):
        if len(what) > 1:
            raise RvsimError(f"{' '.join(what)}: one file at a time, or words in hex")
        lines = _file(what[0])
    else:
        lines = _words(what)
    for line in lines:
        click.echo(line)
    return 0


def _words(words: tuple[str, ...]) -> Iterator[str]:
    from dataclasses import replace

    from rvsim.cli.words import parse_word

    pc = 0
    for d in [parse_word(word) for word in words]:
        yield _line(replace(d, pc=pc))
        pc += d.length


def _line(d: Decoded) -> str:
    from rvsim.insn.disasm import assemble_text, disassemble

    text = disassemble(d) if d.insn is not None else assemble_text(d)
    word = f"{d.word:0{2 * d.length}x}"
    return f"{d.pc:8x}:  {word:<8}  {text}"


class _Section(NamedTuple):
    name: str
    start: int
    end: int


def _file(path: str) -> Iterator[str]:
    from rvsim.cli.words import is_word, parse_word
    from rvsim.guest.elf import load_elf
    from rvsim.hart.memory import Memory

    if not Path(path).exists() and not is_word(path):
        parse_word(path)  # says that it is neither
    memory = Memory()
    image = load_elf(path, memory)
    for section in _sections(path, image):
        yield f"section {section.name}"
        yield from _code(memory, image, section)
        yield ""


def _code(memory: Memory, image: Image, section: _Section) -> Iterator[str]:
    from rvsim.insn.decode import decode
    from rvsim.insn.isa import isa

    table = isa()
    pc = section.start
    while pc + 2 <= section.end:
        symbol = image.symbols.lookup(pc)
        if symbol is not None and symbol[1] == 0:
            yield ""
            yield f"{pc:016x} <{symbol[0]}>:"
        word = int.from_bytes(memory.read(pc, 2), "little")
        length = 2
        if word & 3 == 3 and word & 0b11100 != 0b11100 and pc + 4 <= section.end:
            word, length = int.from_bytes(memory.read(pc, 4), "little"), 4
        yield _line(decode(word, length, pc, table))
        pc += length


def _sections(path: str, image: Image) -> list[_Section]:
    """The sections with code in the file; its executable segments if it has no sections."""
    from elftools.elf.constants import SH_FLAGS

    from rvsim.guest.sections import DAMAGE, open_elf
    from rvsim.hart.memory import X

    wanted = SH_FLAGS.SHF_EXECINSTR | SH_FLAGS.SHF_ALLOC
    code = [s for s in image.segments if s.perm & X]
    try:
        named = [
            _Section(
                printable(s.name),
                s["sh_addr"] + image.bias,
                s["sh_addr"] + image.bias + s["sh_size"],
            )
            for s in open_elf(Path(path).read_bytes()).iter_sections()
            if s["sh_flags"] & wanted == wanted
        ]
    except DAMAGE:
        named = []
    inside = [n for n in named if any(s.addr <= n.start and n.end <= s.file_end for s in code)]
    return inside or [_Section("without a name", s.addr, s.file_end) for s in code]
