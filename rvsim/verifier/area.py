"""Where the arrays of a call lie in guest memory: each group of them between unmapped pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rvsim.errors import RvsimError
from rvsim.hart.memory import PAGE, Memory, R, W
from rvsim.verifier.arguments import ArrayPlace

Octets = npt.NDArray[np.uint8]

_SEED: Final = 0x5EED
_MOST_LAYOUTS: Final = 64
_BETWEEN_NOISES: Final = 8 * 61
_MARGIN: Final = 1
"""Unmapped pages before each cell, at least."""


class Member(NamedTuple):
    """An argument of a group that shares memory, by its number: `after` bytes after the first."""

    number: int
    after: int


class Extent(NamedTuple):
    """What the layout of a call depends on, of one of its arguments."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    writes: bool
    """Whether the kernel may write to it."""
    placement: ArrayPlace
    row_stride: int | None

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from element to element in guest memory, along each axis."""
        sizes = list(self.shape)
        if self.row_stride is not None:
            sizes[-1] = self.row_stride
        steps = [self.dtype.itemsize]
        for size in reversed(sizes[1:]):
            steps.append(steps[-1] * size)
        return tuple(reversed(steps[: len(sizes)]))

    @property
    def nbytes(self) -> int:
        """From the first byte to the last in guest memory."""
        if not all(self.shape):
            return 0
        steps = zip(self.shape, self.strides, strict=True)
        return int(self.dtype.itemsize + sum((n - 1) * step for n, step in steps))


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """An argument's address, and its elements as they are in guest memory."""

    address: int
    nbytes: int
    guest: npt.NDArray[Any]
    writes: bool


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """Bytes near an argument that no argument has; `before` is what they are filled with."""

    near: int
    """The number of the argument."""
    after: int
    """Bytes from that argument's start on; negative for a gap before it."""
    stride: int
    now: Octets
    before: Octets


@dataclass(frozen=True, slots=True)
class Stray:
    """Bytes that changed although no argument has them.

    The first is `offset` bytes after the start of the argument of this number: a negative number
    before it, and at least the argument's size after it.
    """

    argument: int
    offset: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """Pages that hold a group of arguments; `pages` are their numbers."""

    pages: range
    rights: int
    now: Octets
    noise: Octets
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the arguments of a call are, in their order."""

    cells: tuple[Cell, ...]
    places: tuple[Placed, ...]
    mapping: tuple[tuple[range, int], ...]
    """Pages and their rights."""


class ArgumentArea:
    """The part of a memory that arguments of calls are put in: `size` bytes from `start` on.

    Arguments of the same extents get the same addresses in each call.
    """

    def __init__(self, memory: Memory, start: int, size: int) -> None:
        self._memory = memory
        self._start, self._stop = start // PAGE, (start + size) // PAGE
        self._mapped: tuple[tuple[range, int], ...] = ()
        self._noise: Octets = np.zeros(0, np.uint8)
        self._layouts: dict[Any, Layout] = {}
        self.held = 0
        """Bytes of memory that the arguments of the last call take up."""

    @property
    def nowhere(self) -> int:
        """The address of a page that is never mapped."""
        return self._start * PAGE

    def place(self, extents: tuple[Extent, ...], groups: tuple[tuple[Member, ...], ...]) -> Layout:
        """Find room for groups of arguments and map it.

        Raises `RvsimError` if the guest's memory is used up.
        """
        key = extents, groups
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[key] = self._laid_out(extents, groups)
        if layout.mapping != self._mapped:
            self._map(layout.mapping)
        return layout

    def _laid_out(
        self, extents: tuple[Extent, ...], groups: tuple[tuple[Member, ...], ...]
    ) -> Layout:
        cells: list[Cell] = []
        places: dict[int, Placed] = {}
        page = self._start + 1
        for group in groups:
            size = max(after + extents[number].nbytes for number, after in group)
            address, pages = _room(extents[group[0].number], size, page + _MARGIN)
            page = pages.start + (1 << (len(pages) - 1).bit_length())
            if page >= self._stop:
                raise RvsimError("the arrays are larger than the guest's address space")
            for number, after in group:
                places[number] = self._put(extents[number], address + after)
            rights = R | W if any(extents[number].writes for number, _ in group) else R
            members = [(number, extents[number], places[number]) for number, _ in group]
            cells.append(self._cell(pages, rights, members, len(cells)))
        return Layout(
            tuple(cells),
            tuple(places[number] for number in range(len(extents))),
            tuple((cell.pages, cell.rights) for cell in cells),
        )

    def _put(self, extent: Extent, address: int) -> Placed:
        guest: npt.NDArray[Any] = np.ndarray(
            extent.shape, extent.dtype, self._memory.view, address, extent.strides
        )
        return Placed(address, extent.nbytes, guest, extent.writes)

    def _cell(
        self, pages: range, rights: int, members: list[tuple[int, Extent, Placed]], order: int
    ) -> Cell:
        start, size = pages.start * PAGE, len(pages) * PAGE
        noise = self._noise_of(size, order)
        now = self._memory.data[start : start + size]
        gaps = []
        for near, address, rows, width, stride in _gaps(members, pages):
            shape, strides, at = (rows, width), (stride, 1), address - start
            gaps.append(
                Gap(
                    near,
                    address - next(p.address for n, _, p in members if n == near),
                    stride,
                    np.ndarray(shape, np.uint8, self._memory.view, address, strides),
                    np.ndarray(shape, np.uint8, noise, at, strides),
                )
            )
        return Cell(pages, rights, now, noise, tuple(gaps))

    def _map(self, wanted: tuple[tuple[range, int], ...]) -> None:
        kept = [cell for cell in self._mapped if cell in wanted]
        for pages, rights in self._mapped:
            if (pages, rights) not in kept:
                self._memory.unmap(pages.start * PAGE, len(pages) * PAGE)
        self._mapped = tuple(kept)
        for pages, rights in wanted:
            if (pages, rights) not in kept:
                self._memory.map(pages.start * PAGE, len(pages) * PAGE, rights)
                self._mapped += ((pages, rights),)
        self._mapped = wanted
        self.held = sum(len(pages) for pages, _ in wanted) * PAGE

    def _noise_of(self, size: int, order: int) -> Octets:
        """Random bytes, others for each cell of a call: a copy from one to the other shows."""
        first = order * _BETWEEN_NOISES
        if first + size > self._noise.size:
            noise = np.random.default_rng(_SEED).bytes(first + size)
            self._noise = np.frombuffer(noise, np.uint8)
        return self._noise[first : first + size]


def strays(layout: Layout) -> list[Stray]:
    """Changes around the arguments, which no kernel may make."""
    found = []
    for cell in layout.cells:
        for gap in cell.gaps if cell.rights & W else ():
            changed = gap.now != gap.before
            if changed.any():
                row, column = (int(i[0]) for i in changed.nonzero())
                offset = gap.after + row * gap.stride + column
                found.append(Stray(gap.near, offset, int(changed.sum())))
    return found


def _room(first: Extent, size: int, page: int) -> tuple[int, range]:
    """The address of a group that begins with this argument, and its pages from `page` on."""
    align, offset, at, slack = first.placement
    if at == "start":
        begin = -(-(page * PAGE) // (align or PAGE)) * (align or PAGE)
        address = begin + offset
        return address, range(address // PAGE, -(-(address + max(size, 1) + slack) // PAGE))
    item = first.dtype.itemsize
    step = align or item & -item
    end = (page - (-(size + slack + offset + step) // PAGE)) * PAGE
    address = (end - slack - size - offset) // step * step + offset
    return address, range(address // PAGE, end // PAGE)


def _gaps(
    members: Sequence[tuple[int, Extent, Placed]], pages: range
) -> Iterator[tuple[int, int, int, int, int]]:
    """Number of an argument, and address, rows, width and stride of bytes that are none's."""
    ordered = sorted(members, key=lambda member: member[2].address)
    at, near = pages.start * PAGE, ordered[0][0]
    for number, extent, placed in ordered:
        if placed.address > at:
            yield near, at, 1, placed.address - at, 0
        if len(members) == 1:
            yield from _between_rows(number, extent, placed.address)
        if placed.address + placed.nbytes > at:
            at, near = placed.address + placed.nbytes, number
    if at < pages.stop * PAGE:
        yield near, at, 1, pages.stop * PAGE - at, 0


def _between_rows(
    number: int, extent: Extent, address: int
) -> Iterator[tuple[int, int, int, int, int]]:
    shape, item = extent.shape, extent.dtype.itemsize
    rows = prod(shape[:-1])
    if extent.row_stride is not None and extent.row_stride > shape[-1] and rows > 1:
        row, stride = shape[-1] * item, extent.row_stride * item
        yield number, address + row, rows - 1, stride - row, stride
