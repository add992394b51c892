"""The page of ``rvsim report``: tables and pictures of profiles, put into a template.

`tables` and `loops` choose the numbers, `stalls`, `roofline` and `pipeline` where the
pictures have them;
`page.html` and `style.css` beside them are all that is HTML.  Nothing on the page is loaded.
"""

from rvsim.cli.page.loops import hottest_innermost
from rvsim.cli.page.programs import Program
from rvsim.cli.page.render import page

__all__ = ["Program", "hottest_innermost", "page"]
