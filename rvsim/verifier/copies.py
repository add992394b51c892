"""Copies of arguments for one more call: what shared memory shares it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rvsim.verifier.arguments import Argument
from rvsim.verifier.sharing import grouped


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The same arguments with arrays of their own; those that shared memory share the copy.

    >>> a = np.arange(4)
    >>> copy = copied({"dst": a[1:], "src": a[:3], "n": 3})
    >>> copy["src"][1] = 9
    >>> copy["dst"], a
    (array([9, 2, 3]), array([0, 1, 2, 3]))
    """
    names = [name for name, value in arguments.items() if _array(value) is not None]
    arrays = [array for value in arguments.values() if (array := _array(value)) is not None]
    made: dict[int, npt.NDArray[Any]] = {}
    for group in grouped(arrays):
        octets = np.zeros(max(after + arrays[number].nbytes for number, after in group), np.uint8)
        for number, after in group:
            old = arrays[number]
            new: npt.NDArray[Any] = np.ndarray(old.shape, old.dtype, octets, after)
            new[...] = old
            new.flags.writeable = old.flags.writeable
            made[number] = new
    found = dict(arguments)
    for number, name in enumerate(names):
        given, array = arguments[name], made[number]
        found[name] = replace(given, array=array) if isinstance(given, Argument) else array
    return found


def _array(value: Any) -> npt.NDArray[Any] | None:
    if isinstance(value, Argument):
        return value.array
    return value if isinstance(value, np.ndarray) else None
