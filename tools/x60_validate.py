"""Compare the cost model with measurements on X60 silicon, and write docs/accuracy.md.

python tools/x60_validate.py --instr CSV --kernels CSV --bp3 CSV
python tools/x60_validate.py --instr CSV --every 20 --no-write     a sample, on the terminal only

The files are the public measurements as rows: instructions (mnemonic, operands, masked, sew, lmul,
cycles at VLMAX and at vl = 1, destination registers), kernels (variant, bytes, bytes per cycle)
and bp3-microarch (campaign, case, cycles).  Loops and latencies published one by one need no file.
Writing needs matplotlib (``pip install 'rvsim-x60[tools]'``), for the pictures.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from x60 import instructions, kernels, latency, microarch, published

from rvsim.cost import load_core

ROOT = Path(__file__).resolve().parents[1]
LONGEST_RUN = 1_400_000
"""Kernel curves are followed up to so many bytes unless asked for more."""


@dataclass
class Section:
    """Errors of one kind of measurement by class, and the single worst ones; `details` follow."""

    title: str
    bars: dict[str, float]
    errors: dict[str, list[tuple[float, str]]] = field(default_factory=lambda: defaultdict(list))
    cycles: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    details: list[str] = field(default_factory=list)

    def add(self, name: str, measured: float, predicted: float, what: str) -> None:
        self.errors[name].append((predicted / measured - 1, what))
        self.cycles[name].append((measured, predicted))

    def table(self) -> Iterable[str]:
        yield f"### {self.title}"
        yield ""
        yield "| what | n | mean error | within 10 % | worst | bar |"
        yield "|---|---|---|---|---|---|"
        for name, errors in self.errors.items():
            sizes = [abs(e) for e, _ in errors]
            mean = 100 * sum(sizes) / len(sizes)
            near = 100 * sum(s <= 0.1 for s in sizes) / len(sizes)
            error, what = max(errors, key=lambda e: abs(e[0]))
            bar = f"{self.bars[name]:g} %" if name in self.bars else "none"
            yield (
                f"| {name} | {len(errors)} | {mean:.1f} % | {near:.0f} % "
                f"| {100 * error:+.0f} % {what} | {bar} |"
            )
        yield from ("", *self.details)
        if self.details:
            yield ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instr", type=Path, metavar="CSV")
    parser.add_argument("--kernels", type=Path, metavar="CSV")
    parser.add_argument("--bp3", type=Path, metavar="CSV")
    parser.add_argument("--core", default="x60")
    parser.add_argument("--core-set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--every", type=int, default=1, help="only every so many rows or sizes")
    parser.add_argument("--shortest", type=int, default=0, help="bytes of a kernel run, at least")
    parser.add_argument("--longest", type=int, default=LONGEST_RUN, help="and at most")
    parser.add_argument("--no-write", action="store_true", help="leave docs/accuracy.md alone")
    options = parser.parse_args(arguments)
    core = load_core(options.core, options.core_set)
    sections = []
    started = time.monotonic()
    if options.instr:
        sections.append(_instructions(core, instructions.read(options.instr, options.every)))
    if options.bp3:
        sections.append(_microarch(core, microarch.read(options.bp3)[:: options.every]))
    if options.kernels:
        points = [
            p for p in kernels.read(options.kernels) if options.shortest <= p.n <= options.longest
        ]
        sections += _kernels(core, points, options.every)
    sections += [_published(core), _latency(core)]
    text = [line for section in sections for line in section.table()]
    print("\n".join(text))
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)
    if not options.no_write:
        _write([line for section in sections for line in (*section.table(), *_picture(section))])
    return 0


def _instructions(core: object, rows: list[instructions.Row]) -> Section:
    section = Section(
        "Instruction table",
        {"arithmetic, unmasked": 1.5, "arithmetic, masked": 1.5, "memory, EEW = SEW": 5,
         "scalar": 6},
    )  # fmt: skip
    for p in instructions.predict(core, rows):  # type: ignore[arg-type]
        row = p.row
        if row.kind == "memory":
            name = "memory, EEW = SEW" if row.eew == row.sew else "memory, other EEW"
        elif row.kind == "arithmetic":
            name = f"arithmetic, {'masked' if row.masked else 'unmasked'}"
        else:
            name = row.kind
        section.add(name, p.measured, p.predicted, f"{row.mnemonic} {row.vtype[:-6]} vl {p.vl}")
    return section


def _microarch(core: object, cases: list[microarch.Case]) -> Section:
    section = Section("Loops of one instruction (bp3-microarch)", {"vadd, vmv, logic": 3, "vle": 3})
    for p in microarch.predict(core, cases):  # type: ignore[arg-type]
        name = next((n for n in ("vlseg", "vlse", "vle") if n in p.case.name), "vadd, vmv, logic")
        section.add(name, p.case.measured, p.predicted, p.case.name)
    return section


def _kernels(core: object, points: list[kernels.Point], every: int) -> list[Section]:
    sizes = sorted({p.n for p in points})[::every]
    chosen = [p for p in points if p.n in set(sizes)]
    bars = {"up to 260 bytes": 8.0, "1 to 28 KB": 4.0, "33 to 400 KB": 8.0,
            "400 KB to 1 MB": 12.0, "1 MB and more": 12.0}  # fmt: skip
    totals = Section("Kernel curves, totals", bars)
    variants = Section("Kernel curves, 1 to 28 KB, by kernel", {})
    slopes = Section("Kernel loops in L1: cycles between two sizes", {"slopes": 3.0})
    predicted: dict[tuple[str, str, str], dict[int, tuple[float, float]]] = defaultdict(dict)
    for p in kernels.predict(core, chosen):  # type: ignore[arg-type]
        point = p.point
        where = f"{point.title} {point.variant} {point.n}"
        for name, inside in kernels.SIZES.items():
            if inside(point.n):
                totals.add(name, point.measured, p.predicted, where)
        if kernels.SIZES["1 to 28 KB"](point.n):
            variants.add(point.title, point.measured, p.predicted, where)
        key = (point.kernel, point.title, point.variant)
        predicted[key][point.n] = (point.measured, p.predicted)
    for (_, title, variant), by_size in predicted.items():
        inside = [n for n in by_size if 1000 <= n <= 14_000]
        if len(inside) > 1 and variant != "scalar":
            (m0, p0), (m1, p1) = by_size[min(inside)], by_size[max(inside)]
            slopes.add("slopes", m1 - m0, p1 - p0, f"{title} {variant}")
    return [s for s in (slopes, totals, variants) if s.errors]


def _published(core: object) -> Section:
    names = {"registers": "vmadot chains", "L1": "int8 tiles from L1", "L2": "int8 tiles from L2",
             "overlap": "division and additions"}  # fmt: skip
    section = Section("Loops published one by one", dict.fromkeys(names.values(), 5.0))
    for p in published.predict(core):  # type: ignore[arg-type]
        section.add(names[p.loop.level], p.loop.measured, p.predicted, p.loop.name)
    return section


def _latency(core: object) -> Section:
    section = Section("Latency", {})
    steps = list(latency.chase(core))  # type: ignore[arg-type]
    for s in steps:
        section.add(s.level, s.measured, s.predicted, s.name)
    for p in latency.predict(core):  # type: ignore[arg-type]
        section.add(p.chain.kind, p.chain.measured, p.predicted, p.chain.name)
    section.bars = dict.fromkeys(section.errors, 15.0)
    section.details = list(latency.table(steps))
    return section


def _picture(section: Section) -> Iterable[str]:
    """Draw a section, and show the picture below its table."""
    from x60.plots import draw

    path = draw(section.title, section.cycles, ROOT / "docs" / "accuracy")
    yield f"![{section.title}: predicted against measured](accuracy/{path.name})"
    yield ""


def _write(tables: list[str]) -> None:
    """Put the tables between the markers of docs/accuracy.md."""
    path = ROOT / "docs" / "accuracy.md"
    text = path.read_text("utf-8")
    begin, end = "<!-- tables -->\n", "<!-- end of tables -->\n"
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    path.write_text(before + begin + "\n" + "\n".join(tables) + end + after, "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
