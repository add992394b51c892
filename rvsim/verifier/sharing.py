"""Arrays that share memory on the host share it in the guest: groups of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from rvsim.verifier.area import Member
from rvsim.verifier.arguments import Array

Groups = tuple[tuple[Member, ...], ...]


def grouped(arrays: Sequence[Array]) -> Groups:
    """Groups of contiguous arrays whose bytes overlap, each in the order of its addresses.

    >>> a, b = np.zeros(8, np.int32), np.zeros(8, np.int32)
    >>> [[tuple(member) for member in group] for group in grouped([a[4:], b, a[:6]])]
    [[(2, 0), (0, 16)], [(1, 0)]]
    """
    if not any(np.may_share_memory(a, b) for a, b in combinations(arrays, 2)):
        return tuple((Member(number, 0),) for number in range(len(arrays)))
    groups: list[list[Member]] = []
    start = stop = -1
    for number in sorted(range(len(arrays)), key=lambda n: _address(arrays[n])):
        address, size = _address(arrays[number]), arrays[number].nbytes
        if size and address < stop:
            groups[-1].append(Member(number, address - start))
        else:
            groups.append([Member(number, 0)])
            start = address
        stop = max(stop, address + size)
    return tuple(sorted((tuple(group) for group in groups), key=min))


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
