"""What is said of an argument beyond its value: where it lies, and what the kernel does with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
At = Literal["start", "end"]


class ArrayPlace(NamedTuple):
    """Where an array lies: `offset` bytes after a multiple of `align`, at a page's start or end.

    At the end, `slack` bytes after the array are readable.
    """

    align: int | None = None
    offset: int = 0
    at: At = "start"
    slack: int = 0

    def checked(self) -> ArrayPlace:
        """Itself; ValueError if there is no such place."""
        if self.at not in ("start", "end"):
            raise ValueError(f"at={self.at!r} is neither 'start' nor 'end'")
        if self.align is not None and (self.align < 1 or self.align & (self.align - 1)):
            raise ValueError(f"align={self.align} is not a power of two")
        if self.slack < 0 or self.offset < 0:
            raise ValueError("slack and offset are numbers of bytes, 0 or more")
        return self


ANYWHERE: Final = ArrayPlace()


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """An array with what is said of it; `arg` and `out` make it.

    Of one that `is_out` the kernel reads nothing.  `row_stride` is in elements.
    """

    array: Array
    is_out: bool = False
    placement: ArrayPlace = ANYWHERE
    row_stride: int | None = None

    def checked(self) -> Argument:
        """Itself; ValueError if its parts do not fit together."""
        array, stride = self.array, self.row_stride
        self.placement.checked()
        if self.is_out and not array.flags.writeable:
            raise ValueError("the array of out() is not writeable: pass a copy")
        if stride is None:
            return self
        if array.ndim < 2:
            raise ValueError(f"row_stride={stride} is for arrays of rows, not {array.ndim}-D ones")
        if stride < array.shape[-1]:
            raise ValueError(
                f"row_stride={stride} is shorter than a row of {array.shape[-1]} elements"
            )
        return self


def arg(
    array: npt.ArrayLike,
    *,
    align: int | None = None,
    offset: int = 0,
    at: At = "start",
    slack: int = 0,
    row_stride: int | None = None,
) -> Argument:
    """An array that lies at a certain place in guest memory.

    Its address is `offset` bytes after a multiple of `align` bytes: those of a page, or at the end
    of a page those of an element.  With `at="end"` an unmapped page comes after its last byte, and
    after `slack` bytes more that may be read.  `row_stride` is the distance of rows in elements,
    for an array whose rows do not follow each other.

    Raises ValueError where these do not fit together.

    >>> arg(np.zeros(3, np.int32), at="end").placement.at
    'end'
    """
    placement = ArrayPlace(align, offset, at, slack)
    return Argument(np.asarray(array), False, placement, row_stride).checked()


def out(
    array: npt.DTypeLike | Array,
    shape: int | tuple[int, ...] | None = None,
    *,
    align: int | None = None,
    offset: int = 0,
    at: At = "start",
    slack: int = 0,
    row_stride: int | None = None,
) -> Argument:
    """An array that the kernel writes and does not read: before the call it holds random bytes.

    `array` is one that gets the result, or the dtype of a new one of this `shape`; it is the
    attribute `array` of what this returns.  The other arguments are those of `arg`.

    Raises TypeError for a dtype without a shape or an array with one, ValueError as `arg` does.

    >>> out(np.int32, (2, 3)).array.shape
    (2, 3)
    """
    if not isinstance(array, np.ndarray):
        if shape is None:
            raise TypeError(f"out({array!r}) needs a shape: write out(dtype, shape) or out(array)")
        array = np.zeros(shape, array)
    elif shape is not None:
        raise TypeError("out(array) takes its shape from the array")
    return Argument(array, True, ArrayPlace(align, offset, at, slack), row_stride).checked()
