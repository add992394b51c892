"""Many lines of text at once: NumPy columns with a text for each line.

A column is an array of bytes of one width.  Zero bytes are padding anywhere in it, so that numbers
and texts of any length can be side by side; `joined` removes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.cost.batch import Batch
from rvsim.cost.formula import CYCLE, FRACTION_BITS

Column = npt.NDArray[np.bytes_]
Numbers = npt.NDArray[Any]
Places = npt.NDArray[np.intp]
Lines = tuple[Places, Column]
"""The places of lines, and their texts."""

_PIECE: Final = 4096
_KEPT: Final = 24 << 20
_RADIX: Final = 10_000


def _digits(radix: int, width: int, form: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Tables of texts with `width` digits; from index `radix` on, without leading zeros.

    The second table is for the last digits of a number: it has a 0 where the first has no text.
    """
    full = [f"{i:0{width}{form}}".encode() for i in range(radix)]
    bare = [f"{i:{form}}".encode().rjust(width, b"\0") for i in range(radix)]
    last = np.array(full + bare).view(f"<u{width}")
    others = last.copy()
    others[radix] = 0
    return others, last


_DECIMAL: Final = _digits(_RADIX, 4, "d")
_HEXADECIMAL: Final = _digits(256, 2, "x")
_FRACTIONS: Final = np.array([f"{i / CYCLE:.8f}".rstrip("0")[1:].encode() for i in range(CYCLE)])


def keep_memory() -> None:
    """Make the C library keep the memory of a piece for the next one.

    Otherwise glibc returns free memory to the system and asks for it again, which takes as long as
    everything else.  It stops doing so after it has freed a block as large as this one.
    """
    np.empty(_KEPT, np.uint8)


def pieces(batch: Batch) -> Iterator[Batch]:
    """A batch in pieces that are small enough for the processor's cache, with their text."""
    for first in range(0, len(batch.rows), _PIECE):
        yield Batch(batch.rows[first : first + _PIECE], batch.code)


# -- columns of numbers


def decimal(values: Numbers) -> Column:
    """Decimal texts of integers from 0 to 2**63 - 1.

    >>> [text.replace(b"\\0", b"") for text in decimal(np.array([7, 120_034])).tolist()]
    [b'7', b'120034']
    """
    width = len(str(values.max(initial=0)))
    groups = (width + 3) // 4
    text = np.empty((len(values), groups), "<u4")
    rest = values.astype(np.int64)
    for group in reversed(range(groups)):
        higher = rest // _RADIX
        digits = rest - higher * _RADIX + (higher == 0) * _RADIX
        text[:, group] = _DECIMAL[group == groups - 1].take(digits)
        rest = higher
    return _last(text, width)


def hexadecimal(values: Numbers) -> Column:
    """Hexadecimal texts of integers from 0 to 2**64 - 1, without a prefix.

    >>> [text.replace(b"\\0", b"") for text in hexadecimal(np.array([0, 0x1002080])).tolist()]
    [b'0', b'1002080']
    """
    groups = (int(values.max(initial=1)).bit_length() + 7) // 8
    numbers = values.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - groups :]
    text = np.empty((len(values), groups), "<u2")
    leading = np.ones(len(values), bool)
    for group in range(groups):
        digits: Numbers = numbers[:, group] + leading * np.int64(256)
        text[:, group] = _HEXADECIMAL[group == groups - 1].take(digits)
        leading &= numbers[:, group] == 0
    return _last(text, 2 * groups)


def _last(text: npt.NDArray[Any], characters: int) -> Column:
    """The last characters of each row."""
    matrix = text.view(np.uint8)
    return matrix[:, matrix.shape[1] - characters :].view(f"S{characters}")[:, 0]


def cycles(times: Numbers, whole: bytes = b"") -> Column:
    """Exact decimals of fixed-point times (`rvsim.cost.formula`); whole cycles end with `whole`.

    >>> [text.replace(b"\\0", b"") for text in cycles(np.array([512, 297]), whole=b".0").tolist()]
    [b'2.0', b'1.16015625']
    """
    number, fraction = decimal(times >> FRACTION_BITS), times % CYCLE
    if not fraction.any():
        return columns(number, whole)
    return columns(number, np.where(fraction == 0, whole, _FRACTIONS[fraction]))


# -- columns of columns


def columns(*parts: bytes | Column) -> Column:
    """Parts side by side, at least one of them a column; `bytes` are the same in all lines.

    >>> columns(b"<", np.array([b"a", b"b"]), b">").tolist()
    [b'<a>', b'<b>']
    """
    widths = [len(part) if isinstance(part, bytes) else part.itemsize for part in parts]
    (count,) = {len(part) for part in parts if not isinstance(part, bytes)}
    template = b"".join(
        part if isinstance(part, bytes) else bytes(width)
        for part, width in zip(parts, widths, strict=True)
    )
    text = np.full(count, template, f"S{len(template)}")
    matrix = text.view(np.uint8).reshape(count, len(template))
    end = 0
    for part, width in zip(parts, widths, strict=True):
        end += width
        if not isinstance(part, bytes):
            matrix[:, end - width : end].view(part.dtype)[:, 0] = part
    return text


def some(part: bytes | Column, chosen: Places | npt.NDArray[np.bool_]) -> bytes | Column:
    """The chosen lines of a part for `columns`."""
    return part if isinstance(part, bytes) else part[chosen]


def only(chosen: npt.NDArray[np.bool_], texts: Column) -> Column:
    """A column with the texts, in order, at the chosen lines, and empty texts elsewhere.

    >>> only(np.array([True, False, True]), np.array([b"a", b"b"])).tolist()
    [b'a', b'', b'b']
    """
    column = np.zeros(len(chosen), texts.dtype)
    column[chosen] = texts
    return column


# -- one text


def joined(groups: Sequence[Lines]) -> bytes:
    """The text of all lines of several groups; a line's place is its index in the text.

    >>> joined([(np.array([1]), np.array([b"b"])), (np.array([0, 2]), np.array([b"a", b"c"]))])
    b'abc'
    """
    widths = np.empty(sum(len(places) for places, _ in groups), np.intp)
    for places, texts in groups:
        widths[places] = texts.itemsize
    ends = np.cumsum(widths)
    text = np.empty(widths.sum(), np.uint8)
    for places, texts in groups:
        if len(places):
            anywhere = np.ndarray(len(text) - texts.itemsize + 1, texts.dtype, text, strides=(1,))
            anywhere[ends[places] - texts.itemsize] = texts
    found: bytes = text[text != 0].tobytes()
    return found


def joined_by_row(count: int, groups: Sequence[Lines]) -> bytes:
    """The text of `count` rows: for each row the lines of all groups; places are row numbers.

    >>> every, second = np.arange(2), np.array([1])
    >>> joined_by_row(2, [(second, np.array([b"x"])), (every, np.array([b"a", b"b"]))])
    b'axb'
    """
    present = np.zeros((count, len(groups)), bool)
    for group, (rows, _) in enumerate(groups):
        present[rows, group] = True
    places = (np.cumsum(present) - 1).reshape(present.shape)
    return joined([(places[rows, group], texts) for group, (rows, texts) in enumerate(groups)])
