"""The page of ``rvsim report``: tables and pictures of profiles, put into a template.

`tables` and `loops` choose the numbers, `stalls`, `roofline` and `pipeline` where the
pictures have them; the templates and `style.css` beside them are all that is HTML.

Nothing on the page is loaded, and it can be read without scripts.  `pipeline.js`, the only one,
zooms.  It is no library: those move and scale one element, text and all, in place of the
scrolling that browsers do by touch, wheel and keys.  Here only the scale of cycles changes.
"""

from rvsim.page.loops import hottest_innermost
from rvsim.page.programs import ReportedProgram
from rvsim.page.render import page

__all__ = ["ReportedProgram", "hottest_innermost", "page"]
