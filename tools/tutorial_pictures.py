"""Draws the pictures of the tutorial from the tables on its page.

Run it when ``tools/transcripts.py`` has written the page.  Each picture carries the figures that it
shows as its description, so that a test finds out when the page has other ones.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tools.transcripts import Step, steps

TUTORIAL: Final = Path(__file__).resolve().parents[1] / "docs" / "tutorial"
PAGE: Final = TUTORIAL / "which-unroll.md"
PICTURES: Final = TUTORIAL / "pictures"

Figures = dict[str, dict[str, dict[str, float]]]
"""Cycles by panel, program, and what they are spent on or how many tokens they are for."""

_OTHERS: Final = "all others"
_PARTS: Final = {
    r"issue": "issue",
    r"pair": "pairing",
    r"raw:.*": "results",
    r"war": "registers to be overwritten (war)",
    r"unit:vector": "vector unit",
    r"unit:lsu|store": "load/store unit",
}
_COLOURS: Final = ("#999999", "#cccccc", "#56b4e9", "#d55e00", "#0072b2", "#009e73", "#eeeeee")
_LINES: Final = ("#0072b2", "#d55e00", "#009e73")
_FILLS: Final = dict(zip((*_PARTS.values(), _OTHERS), _COLOURS, strict=True))
_CLIPPED: Final = 50_000
"""Cycles where the axis of the second picture ends."""


def figures(page: str) -> dict[str, Figures]:
    """What each picture shows, by its file's name."""
    waits: Figures = {}
    tokens: dict[str, dict[str, float]] = {}
    for step in steps(page):
        words = step.command.split()
        if words[:2] == ["rvsim", "compare"]:
            function = words[words.index("--roi") + 1]
            waits.setdefault(function, {}).update(_compared(step))
        elif words[:2] == ["rvsim", "profile"]:
            tokens[words[2].removesuffix(".elf")] = _by_tokens(step)
    return {"waits.svg": waits, "tokens.svg": {"": tokens}}


def _compared(step: Step) -> Iterator[tuple[str, dict[str, float]]]:
    """Columns of a table of ``rvsim compare``, without the rows that are no cycles."""
    names, *rows = step.shown[: step.shown.index("")]
    cells = [re.split(r"\s{2,}", row) for row in rows]
    first = next(i for i, row in enumerate(cells) if row[0] == "issue")
    for column, name in enumerate(names.split(), 1):
        parts = dict.fromkeys(_FILLS, 0.0)
        for row in cells[first:]:
            parts[_part(row[0])] += float(row[column].replace(",", ""))
        yield name, parts


def _part(reason: str) -> str:
    found = (part for pattern, part in _PARTS.items() if re.fullmatch(pattern, reason))
    return next(found, _OTHERS)


def _by_tokens(step: Step) -> dict[str, float]:
    """The cycles of each function of ``rvsim profile`` by the number in its name."""
    rows = [line.split() for line in step.shown]
    found = {row[-1].rpartition("_x")[2]: float(row[0].replace(",", "")) for row in rows}
    return dict(sorted(found.items()))


def shown(path: Path) -> Any:
    """The figures that a picture carries."""
    (description,) = ET.parse(path).iter("{http://purl.org/dc/elements/1.1/}description")
    return json.loads(description.text or "")


def draw(page: str, folder: Path) -> None:
    """Write the pictures of a page."""
    import matplotlib as mpl  # tests read the figures without it

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "rvsim"  # names inside the file are the same each time
    folder.mkdir(parents=True, exist_ok=True)
    content = figures(page)
    for name, picture in (("waits.svg", _waits), ("tokens.svg", _tokens)):
        metadata = {"Date": None, "Creator": None, "Description": json.dumps(content[name])}
        picture(content[name]).savefig(folder / name, metadata=metadata)


def _waits(content: Figures) -> Any:
    """Bars of what the cycles were spent on, a panel for each function."""
    from matplotlib import pyplot as plt

    panels = dict(sorted(content.items()))
    widths = [len(programs) for programs in panels.values()]
    size = {"figsize": (9, 4.2), "layout": "constrained"}
    figure, axes = plt.subplots(1, len(panels), width_ratios=widths, **size)
    for ax, (function, programs) in zip(axes, panels.items(), strict=True):
        _stack(ax, programs)
        count = function.rpartition("_x")[2]
        ax.set(title=f"{count} token{'s' * (count != '1')}", xlabel="unrolled by")
        ax.yaxis.set_major_formatter("{x:,.0f}")
    axes[0].set_ylabel("cycles")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def _stack(ax: Any, programs: Mapping[str, Mapping[str, float]]) -> None:
    labels = [_label(name) for name in programs]
    below = [0.0] * len(programs)
    for part, colour in _FILLS.items():
        heights = [parts[part] for parts in programs.values()]
        ax.bar(labels, heights, bottom=below, color=colour, edgecolor="black", lw=0.4, label=part)
        below = [a + b for a, b in zip(below, heights, strict=True)]
    for i, total in enumerate(below):
        ax.annotate(f"{total:,.0f}", (i, total), ha="center", va="bottom", fontsize="small")


def _label(name: str) -> str:
    """What a bar is called: by how much its loop is unrolled.

    >>> _label("gemm_tile_s8_u4"), _label("mine")
    ('4', '1\\nmine')
    """
    unroll = name.rpartition("_u")[2] if "_u" in name else "1"
    return f"{unroll}\nmine" if name.startswith("mine") else unroll


def _tokens(content: Figures) -> Any:
    """Lines of cycles by the number of tokens; what is off the scale is written there."""
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, cycles), colour in zip(content[""].items(), _LINES, strict=True):
        counts = [int(count) for count in cycles]
        ax.plot(counts, list(cycles.values()), marker="o", color=colour, label=name)
        for count, value in zip(counts, cycles.values(), strict=True):
            if value > _CLIPPED:
                at = (count, 0.97 * _CLIPPED)
                ax.annotate(f"{value:,.0f} \u2191", at, ha="right", va="top", color=colour)
    ax.set(ylim=(0, _CLIPPED), xlabel="tokens", ylabel="cycles for 4 runs of 32 channels, k 256")
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.legend(loc="upper left")
    return figure


def main() -> None:
    draw(PAGE.read_text(), PICTURES)


if __name__ == "__main__":
    main()
