"""A set of whole numbers as ranges: which pages of an address space are mapped, or hold data."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Areas:
    """Ranges in order that do not touch; operations are made for few ranges.

    >>> areas = Areas()
    >>> areas.add(2, 5); areas.add(9, 12); areas.add(5, 7)
    >>> areas.parts(0, 100), areas.gaps(0, 10), areas.total
    ([(2, 7), (9, 12)], [(0, 2), (7, 9)], 8)
    >>> areas.remove(3, 10)
    >>> areas.parts(0, 100), areas.covers(10, 12), areas.covers(2, 4)
    ([(2, 3), (10, 12)], True, False)
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []
        self.total = 0
        """How many numbers are in the set."""

    def add(self, start: int, stop: int) -> None:
        """Put a range into the set."""
        if start >= stop:
            return
        first, last = bisect_left(self._stops, start), bisect_right(self._starts, stop)
        if first < last:
            start = min(start, self._starts[first])
            stop = max(stop, self._stops[last - 1])
        self._replace(first, last, [(start, stop)])

    def remove(self, start: int, stop: int) -> None:
        """Take a range out of the set; parts of it may be missing."""
        if start >= stop:
            return
        first, last = bisect_right(self._stops, start), bisect_left(self._starts, stop)
        kept = []
        if first < last:
            before, after = self._starts[first], self._stops[last - 1]
            kept = [(a, b) for a, b in ((before, start), (stop, after)) if a < b]
        self._replace(first, last, kept)

    def _replace(self, first: int, last: int, ranges: list[tuple[int, int]]) -> None:
        self.total -= sum(self._stops[first:last]) - sum(self._starts[first:last])
        self._starts[first:last] = [start for start, _ in ranges]
        self._stops[first:last] = [stop for _, stop in ranges]
        self.total += sum(stop - start for start, stop in ranges)

    def covers(self, start: int, stop: int) -> bool:
        """Whether the whole range is in the set; an empty one is."""
        if start >= stop:
            return True
        index = bisect_right(self._starts, start) - 1
        return index >= 0 and stop <= self._stops[index]

    def parts(self, start: int, stop: int) -> list[tuple[int, int]]:
        """What of a range is in the set."""
        first, last = bisect_right(self._stops, start), bisect_left(self._starts, stop)
        pairs = zip(self._starts[first:last], self._stops[first:last], strict=True)
        return [(max(a, start), min(b, stop)) for a, b in pairs]

    def gaps(self, start: int, stop: int) -> list[tuple[int, int]]:
        """What of a range is not in the set."""
        edges = [start, *(edge for part in self.parts(start, stop) for edge in part), stop]
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return [(a, b) for a, b in pairs if a < b]

    def count(self, start: int, stop: int) -> int:
        """How many numbers of a range are in the set."""
        return sum(b - a for a, b in self.parts(start, stop))

    def highest_gap(self, start: int, stop: int, size: int) -> int | None:
        """Where the highest free range of `size` begins between `start` and `stop`."""
        index = bisect_left(self._starts, stop)
        while stop - start >= size:
            free_from = max(start, self._stops[index - 1]) if index else start
            if stop - free_from >= size:
                return stop - size
            index -= 1
            stop = self._starts[index]
        return None
