"""Pictures of the validation: predicted against measured cycles, a point for each measurement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

Pairs = Sequence[tuple[float, float]]
"""Measured and predicted cycles."""


def draw(title: str, classes: Mapping[str, Pairs], folder: Path) -> Path:
    """One picture of a section, with its classes in colours, as a PNG file; its path."""
    figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
    limits = [c for pairs in classes.values() for pair in pairs for c in pair]
    low, high = min(limits) / 1.3, max(limits) * 1.3
    for factor, style in ((1, "-"), (1.1, ":"), (1 / 1.1, ":")):
        axes.plot([low, high], [low * factor, high * factor], style, color="grey", lw=0.8, zorder=0)
    for name, pairs in classes.items():
        measured, predicted = zip(*pairs, strict=True)
        axes.scatter(measured, predicted, s=6, alpha=0.5, label=f"{name} ({len(pairs)})")
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), title=title)
    axes.set(xlabel="cycles, measured", ylabel="cycles, predicted (dotted: 10 % off)")
    axes.legend(fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')}.png"
    figure.savefig(path, dpi=90, metadata={"Software": None})
    plt.close(figure)
    return path
