"""Hypothesis strategies for the arguments of kernels: `from rvsim import strategies as rv`.

What depends on other arguments names them: a shape may have the name of an argument, or a function
of arguments, in place of a number.  `rvsim.verify` draws those first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from rvsim.verifier.arguments import Argument, ArrayPlace, At
from rvsim.verifier.arguments import out as out_argument
from rvsim.verifier.elements import STYLES, Elements, Floats, Halfway, Integers, elements_of

__all__ = [
    "Dependent",
    "array",
    "cstring",
    "floats",
    "halfway",
    "ints",
    "out",
    "placed",
    "size",
    "sizes",
    "struct",
    "view",
]

Drawn = Mapping[str, Any]
"""Values of arguments by their names."""

Size = int | str | st.SearchStrategy[int] | Callable[..., int]
"""A number, the name of an argument, a strategy, or a function of arguments by their names."""

VLENS: Final = (128, 256, 512, 1024)
_LARGEST: Final = 300


@dataclass(frozen=True, slots=True)
class Dependent:
    """A strategy that is known when the arguments that it `needs` have been drawn."""

    needs: frozenset[str]
    of: Callable[[Drawn], st.SearchStrategy[Any]]


_elements: WeakKeyDictionary[st.SearchStrategy[Any], Elements] = WeakKeyDictionary()
"""What arrays of the numbers of a strategy are made of."""


def sizes(
    *,
    around: Literal["vl"] | None = "vl",
    sew: int = 8,
    lmul: int = 1,
    min: int = 0,
    max: int | None = None,
    multiple_of: int = 1,
    vlens: Sequence[int] = VLENS,
) -> st.SearchStrategy[int]:
    """Numbers of elements: 0, 1, and around vl, which is `lmul` * VLEN / `sew`, and around 2 * vl.

    They lie between `min` and `max`, both included, and are multiples of `multiple_of`.
    """
    vls = [lmul * vlen // sew for vlen in vlens] if around == "vl" else []
    largest = max if max is not None else 2 * vls[-1] + 1 if vls else _LARGEST
    near = {0, 1, *(n for vl in vls for n in (vl - 1, vl, vl + 1, 2 * vl + 1))}
    step = multiple_of
    found = sorted({n // step * step for n in near} | {-(-n // step) * step for n in near})
    chosen = [n for n in found if min <= n <= largest]
    low, high = -(-min // step), largest // step
    anything = st.integers(low, high).map(lambda n: n * step)
    return st.one_of(st.sampled_from(chosen), anything) if chosen else anything


def size(name: str, **given: Any) -> st.SearchStrategy[int]:
    """The same number wherever it is named in one call; `given` is for `sizes`."""
    return st.shared(sizes(**given), key=f"rvsim size {name}")


def ints(width: int, min: int | None = None, max: int | None = None) -> st.SearchStrategy[int]:
    """Signed integers of `width` bits, or those from `min` to `max`; also `elements` of arrays."""
    low = -(1 << width - 1) if min is None else min
    high = (1 << width - 1) - 1 if max is None else max
    found = st.integers(low, high)
    _elements[found] = Integers(low, high)
    return found


def floats(
    width: Literal[16, 32, 64],
    min: float | None = None,
    max: float | None = None,
    *,
    nan: bool = True,
    inf: bool = True,
) -> st.SearchStrategy[float]:
    """Floating-point numbers of `width` bits, or those from `min` to `max`; also for arrays."""
    bounded = min is not None or max is not None
    found = st.floats(
        min, max, width=width, allow_nan=nan and not bounded, allow_infinity=inf and not bounded
    )
    _elements[found] = Floats(min, max, nan and not bounded, inf and not bounded)
    return found


def halfway(to: str, narrow: int = 8) -> Elements:
    """Elements that are ties of rounding once they are multiplied by the argument `to`.

    `narrow` is the width of what they are narrowed to, in bits: some saturate.  ``"params.scale"``
    is a field of a structure.
    """
    return Halfway(to, narrow)


def array(
    dtype: npt.DTypeLike,
    shape: Size | Sequence[Size],
    *,
    elements: Elements | st.SearchStrategy[Any] | None = None,
) -> st.SearchStrategy[npt.NDArray[Any]] | Dependent:
    """Arrays with elements that break kernels, which shrink to zeros.

    Without `elements` they are extremes, ties, NaNs and the like, or any bytes.
    """
    known, sizes_ = np.dtype(dtype), _sizes(shape)
    made_of = _elements[elements] if isinstance(elements, st.SearchStrategy) else elements

    def of(others: Drawn) -> st.SearchStrategy[npt.NDArray[Any]]:
        shapes = st.tuples(*(_known(n, others) for n in sizes_))
        return shapes.flatmap(lambda found: _arrays(known, found, made_of, others))

    return _if_needed(of, [*_names(sizes_), *(made_of.needs if made_of is not None else ())])


def _arrays(
    dtype: np.dtype[Any], shape: tuple[int, ...], elements: Elements | None, others: Drawn
) -> st.SearchStrategy[npt.NDArray[Any]]:
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = st.binary(min_size=nbytes, max_size=nbytes)

    def made(style: Any, content: bytes) -> npt.NDArray[Any]:
        return elements_of(content, dtype, style, elements, others).reshape(shape)

    return st.builds(made, st.sampled_from(STYLES), raw)


def out(
    dtype: npt.DTypeLike, shape: Size | Sequence[Size], *, row_stride: Size | None = None
) -> Argument | st.SearchStrategy[Argument] | Dependent:
    """An array that the kernel writes and does not read, see `rvsim.out`.

    With a shape of numbers it is the argument itself, and no strategy.
    """
    sizes_, stride = _sizes(shape), () if row_stride is None else (row_stride,)
    every = (*sizes_, *stride)
    if all(isinstance(n, int) for n in every):
        return _out(dtype, bool(stride), every)

    def of(others: Drawn) -> st.SearchStrategy[Argument]:
        shapes = st.tuples(*(_known(n, others) for n in every))
        return shapes.map(partial(_out, dtype, bool(stride)))

    return _if_needed(of, _names(every))


def _out(dtype: npt.DTypeLike, has_stride: bool, sizes_: Sequence[Any]) -> Argument:
    shape = tuple(sizes_[:-1] if has_stride else sizes_)
    return out_argument(dtype, shape, row_stride=sizes_[-1] if has_stride else None)


def cstring(*, min: int = 0, max: int = _LARGEST) -> st.SearchStrategy[npt.NDArray[np.uint8]]:
    """Bytes that are not NUL, `min` to `max` of them, and a NUL after them."""
    text = st.binary(min_size=min, max_size=max)
    return text.map(
        lambda found: np.frombuffer(found.replace(b"\0", b"\1") + b"\0", np.uint8).copy()
    )


def view(
    array: st.SearchStrategy[npt.NDArray[Any]], start: st.SearchStrategy[int] | int
) -> st.SearchStrategy[npt.NDArray[Any]]:
    """An array from an element on: all views of one `array` of a call share its memory."""
    whole = st.shared(array, key=f"rvsim view {id(array)}")
    first = st.just(start) if isinstance(start, int) else start
    return st.builds(lambda found, at: found[at:], whole, first)


def struct(type: Any, **fields: Any) -> st.SearchStrategy[Any]:
    """Structures of a class of ctypes, as ``program.types`` has them; `fields` are strategies."""
    return st.builds(type, **fields)


def placed(
    argument: st.SearchStrategy[Any] | Dependent,
    at: At | st.SearchStrategy[At] = "start",
    *,
    align: int | st.SearchStrategy[int] | None = None,
    offset: int | st.SearchStrategy[int] = 0,
    slack: int | st.SearchStrategy[int] = 0,
) -> st.SearchStrategy[Argument] | Dependent:
    """Arrays at a certain place in guest memory, see `rvsim.arg`."""
    places = st.fixed_dictionaries(
        {
            name: value if isinstance(value, st.SearchStrategy) else st.just(value)
            for name, value in {"at": at, "align": align, "offset": offset, "slack": slack}.items()
        }
    )

    def put(value: Any, place: dict[str, Any]) -> Argument:
        argument = value if isinstance(value, Argument) else Argument(value)
        return replace(argument, placement=ArrayPlace(**place)).checked()

    if isinstance(argument, Dependent):
        found = argument
        return Dependent(found.needs, lambda others: st.builds(put, found.of(others), places))
    return st.builds(put, argument, places)


# -- what depends on other arguments


def _sizes(shape: Size | Sequence[Size]) -> tuple[Size, ...]:
    return tuple(shape) if isinstance(shape, Sequence) and not isinstance(shape, str) else (shape,)


def _names(sizes_: Sequence[Size]) -> list[str]:
    found: list[str] = []
    for each in sizes_:
        if isinstance(each, str):
            found.append(each)
        elif callable(each) and not isinstance(each, st.SearchStrategy):
            found += inspect.signature(each).parameters
    return found


def _known(size_: Size, others: Drawn) -> st.SearchStrategy[int]:
    if isinstance(size_, st.SearchStrategy):
        return size_
    if isinstance(size_, str):
        return st.just(int(others[size_]))
    if callable(size_):
        return st.just(int(size_(**{n: others[n] for n in inspect.signature(size_).parameters})))
    return st.just(size_)


def _if_needed(
    of: Callable[[Drawn], st.SearchStrategy[Any]], names: Sequence[str]
) -> st.SearchStrategy[Any] | Dependent:
    return Dependent(frozenset(names), of) if names else of({})


@st.composite
def together(draw: st.DrawFn, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """One value for each argument: strategies are drawn, all else is as it is.

    Raises TypeError if arguments depend on each other in a circle, or on one that there is not.
    """
    drawn: dict[str, Any] = {}
    left = dict(arguments)
    while left:
        ready = [
            n for n, a in left.items() if not (isinstance(a, Dependent) and a.needs - set(drawn))
        ]
        if not ready:
            name, dependent = next(iter(left.items()))
            raise TypeError(f"{name} needs {', '.join(sorted(dependent.needs - set(drawn)))}")
        for name in ready:
            found = left.pop(name)
            if isinstance(found, Dependent):
                found = found.of({n: _bare(v) for n, v in drawn.items()})
            drawn[name] = draw(found) if isinstance(found, st.SearchStrategy) else found
    return {name: drawn[name] for name in arguments}


def _bare(value: Any) -> Any:
    return value.array if isinstance(value, Argument) else value
