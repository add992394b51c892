"""The page as text."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from rvsim import __version__
from rvsim.cli.cycle_tables import verdict
from rvsim.cli.page.loops import hot_loops
from rvsim.cli.page.pipeline import pipeline
from rvsim.cli.page.programs import Program
from rvsim.cli.page.roofline import roofline
from rvsim.cli.page.stalls import stall_bars, stall_table
from rvsim.cli.page.tables import hottest, summary
from rvsim.perf import compare


def page(programs: Sequence[Program]) -> str:
    """One HTML page on at least one program."""
    environment = Environment(
        loader=PackageLoader("rvsim.cli", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    profiles = [program.profile for program in programs]
    comparison = compare(profiles)
    names = [program.name for program in programs]
    return environment.get_template("page.html").render(
        version=__version__,
        core=profiles[0].core.name,
        regions=[region.name for region in profiles[0].regions],
        programs=programs,
        unknowns=[(p.name, ", ".join(p.profile.unknown)) for p in programs if p.profile.unknown],
        summary=summary(programs, comparison),
        verdict=list(verdict(names, comparison)),
        bars=stall_bars(programs),
        stalls=stall_table(programs),
        roofline=roofline(programs),
        functions=[hottest(program.profile) for program in programs],
        pipelines=[p.iterations and pipeline(p.iterations) for p in programs],
        loops=[hot_loops(program) for program in programs],
    )
