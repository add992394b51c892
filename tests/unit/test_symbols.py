"""Symbol look-up."""

from __future__ import annotations

from rvsim.guest.symbols import FUNC, NOTYPE, Symbol, Symbols


def test_symbols_rank_functions_and_end_where_they_end():
    symbols = Symbols(
        [
            Symbol("label", 0x10, 0x100, NOTYPE, sized=False),
            Symbol("function", 0x10, 0x20, FUNC),
            Symbol("$xrv64i", 0x14, 0x100, NOTYPE, sized=False),
            Symbol(".L0", 0x18, 0x100, NOTYPE, sized=False),
            Symbol("after", 0x30, 0x40, NOTYPE, sized=False),
            Symbol("number", 0x12, 0x12, NOTYPE, sized=False),
        ]
    )
    assert symbols.lookup(0x1F) == ("function", 15)
    assert symbols.lookup(0x20) is None
    assert symbols.lookup(0x3F) == ("after", 15)
    assert symbols.lookup(0x40) is None
    assert symbols.address("label") == 0x10
    assert symbols.address("number") == 0x12
    assert symbols.address("$xrv64i") is None
    assert len(symbols) == 4
