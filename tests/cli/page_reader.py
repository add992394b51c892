"""Reads the page of ``rvsim report``: its tables, and whatever would be loaded from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final

_VOID: Final = frozenset({"meta", "rect", "line", "circle", "br", "link", "img"})
_LOADS: Final = frozenset({"src", "href", "srcset", "data", "action", "poster", "xlink:href"})


class Page(HTMLParser):
    """`tables` are rows of cells; `loads` are (tag, attribute); `unclosed` is empty if well-formed.

    >>> page = Page("<p><table><tr><th>a</th><td>1</td></tr></table></p><img src='x'>")
    >>> page.tables, page.loads, page.unclosed
    ([[['a', '1']]], [('img', 'src')], [])
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.loads: list[tuple[str, str]] = []
        self.unclosed: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.loads += [(tag, name) for name, _ in attrs if name in _LOADS]
        if tag not in _VOID:
            self.unclosed.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.unclosed or "th" in self.unclosed:
            self.tables[-1][-1][-1] += data

    def row(self, name: str) -> list[str]:
        """The cells behind the first one with that name."""
        return next(row[1:] for table in self.tables for row in table if row[0] == name)
