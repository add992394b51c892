"""The page as text."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rvsim import __version__
from rvsim.page.loops import loops_abreast
from rvsim.page.pipeline import pipeline
from rvsim.page.programs import ReportedProgram
from rvsim.page.roofline import roofline
from rvsim.page.stalls import stall_bars, stall_table
from rvsim.page.tables import hottest, summary
from rvsim.perf import compare
from rvsim.perf.wording import comparison_in_words

_SCRIPT: Final = "pipeline.js"


def page(programs: Sequence[ReportedProgram], no_pipeline: str = "") -> str:
    """The HTML page on one or more programs; `no_pipeline` says why it has no pipeline picture.

    The only script that may run on the page is the one that zooms this picture.
    """
    environment = Environment(
        loader=PackageLoader("rvsim", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    profiles = [program.profile for program in programs]
    comparison = compare(profiles)
    names = [program.name for program in programs]
    script = files("rvsim.page").joinpath(_SCRIPT).read_text("utf-8")
    return environment.get_template("page.html").render(
        version=__version__,
        core=profiles[0].core.name,
        regions=[region.name for region in profiles[0].regions],
        programs=programs,
        unknowns=[(p.name, ", ".join(p.profile.unknown)) for p in programs if p.profile.unknown],
        summary=summary(programs, comparison),
        verdict=list(comparison_in_words(names, comparison)),
        bars=stall_bars(programs),
        stalls=stall_table(programs),
        roofline=roofline(programs),
        pipeline=pipeline(programs),
        no_pipeline=no_pipeline,
        loops=loops_abreast(programs),
        left_out=[(p.name, text) for p in programs for text in p.sources.remarks()],
        functions=[hottest(program.profile) for program in programs],
        script=Markup(script),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
    )
