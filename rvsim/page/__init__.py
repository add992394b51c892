"""The page of ``rvsim report``: tables and pictures of profiles, put into a template.

`tables` and `loops` choose the numbers; `stalls`, `roofline` and `pipeline` place them in
pictures.  Only the templates and `style.css` contain HTML and CSS.

The page loads nothing, and is readable without scripts.  The only script, `pipeline.js`, zooms the
pipeline.  A library would scale a whole element, including its text, and replace the browser's own
scrolling by touch, wheel and keys.  Here only the scale of cycles changes.
"""

from rvsim.page.loops import hottest_innermost
from rvsim.page.programs import ReportedProgram
from rvsim.page.render import page

__all__ = ["ReportedProgram", "hottest_innermost", "page"]
