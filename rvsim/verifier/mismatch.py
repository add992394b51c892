"""What a failed verification raises: the smallest case, and the elements that are wrong in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.verifier.arguments import Argument
from rvsim.verifier.conditions import Conditions
from rvsim.verifier.trial import Failure

_SHOWN: Final = 8
"""Wrong elements in the table."""

_FEW: Final = 16
"""Elements of an array that are all shown."""


class Mismatch(AssertionError):
    """A kernel is wrong: `failure` says how, and `arguments` are those of the smallest case.

    `fails` are the conditions that it fails under, and `saved` is the file for `rvsim.replay`.
    There is a subclass for each kind of failure and place, so that Hypothesis tells them apart.
    """

    def __init__(self, kernel: str, failure: Failure, arguments: Mapping[str, Any]) -> None:
        super().__init__(kernel, failure.kind, failure.place)
        self.kernel = kernel
        self.failure = failure
        self.arguments = dict(arguments)
        self.fails: Sequence[Conditions] = (failure.conditions,)
        self.tried = 1
        self.saved: Path | None = None

    def __str__(self) -> str:
        failure = self.failure
        lines = [f"{self.kernel}: {failure.text}", f"under {failure.conditions}"]
        if self.tried > 1:
            lines[1] += f", one of {len(self.fails)} of {self.tried} conditions that fail"
        lines += [*_table(failure), *_arguments(self.arguments)]
        if self.saved is not None:
            lines.append(f"again: rvsim.replay({str(self.saved)!r})")
        return "\n  ".join(lines)


def mismatch(kernel: str, failure: Failure, arguments: Mapping[str, Any]) -> Mismatch:
    """The exception for a failure.

    >>> failure = Failure("wrong", "c", "1 of 2 elements of c are wrong", Conditions(256))
    >>> print(mismatch("gemm", failure, {"n": 2}))
    gemm: 1 of 2 elements of c are wrong
      under vlen=256
      n = 2
    """
    return _class_of(failure.kind, failure.place)(kernel, failure, arguments)


@cache
def _class_of(kind: str, place: str) -> type[Mismatch]:
    return type("Mismatch", (Mismatch,), {"__module__": Mismatch.__module__, "of": (kind, place)})


def _table(failure: Failure) -> Iterator[str]:
    """The first wrong elements, in columns."""
    if failure.wrong is None or failure.got is None:
        return
    indices = np.argwhere(failure.wrong)
    rows = [("index", "got", "expected")]
    for index in map(tuple, indices[:_SHOWN]):
        where = f"[{', '.join(map(str, index))}]"
        rows.append((where, _shown(failure.got[index]), _shown(failure.expected[index])))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        yield "  " + "  ".join(cell.rjust(width) for cell, width in cells)
    if len(indices) > _SHOWN:
        yield f"  and {len(indices) - _SHOWN} more"


def _shown(element: Any) -> str:
    if isinstance(element, np.floating):
        bits = element.tobytes()[::-1].hex()
        return f"{element!s} (0x{bits})"
    return str(element)


def _arguments(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        is_out = isinstance(value, Argument) and value.is_out
        array = value.array if isinstance(value, Argument) else value
        if not isinstance(array, np.ndarray):
            yield f"{name} = {array!r}"
        elif is_out:
            yield f"{name} = out({array.dtype}, {array.shape})"
        else:
            yield f"{name} = {_summary(array)}"


def _summary(array: npt.NDArray[Any]) -> str:
    if array.size <= _FEW:
        return " ".join(repr(array).split())
    nonzero = np.count_nonzero(array)
    return f"{array.dtype} array of shape {array.shape}, {nonzero} elements not zero"
