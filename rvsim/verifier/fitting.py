"""Whether an array may be passed for a pointer, and if not, what its caller has to change."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rvsim.guest.c_types import Array, Enumeration, Float, Integer, Structure, Type, Vector, Void

_SAME_BITS = {"f16": ("float16",), "bf16": ("bfloat16",), "f32": ("float32",), "f64": ("float64",)}


def check_array(name: str, array: npt.NDArray[Any], target: Type, *, has_rows: bool) -> None:
    """Raise TypeError or ValueError if the elements or their order are not those of `target`.

    With `has_rows` the array may be any, since it is copied row by row.
    """
    dimensions = _inner_dimensions(target)
    element = _element(target)
    problem = _wrong_dtype(array.dtype, element)
    if problem is not None:
        raise TypeError(f"{name}: {problem}")
    if dimensions and (
        array.ndim <= len(dimensions) or array.shape[-len(dimensions) :] != dimensions
    ):
        raise ValueError(
            f"{name} points to arrays of {' x '.join(map(str, dimensions))},"
            f" but the array has the shape {array.shape}"
        )
    if not has_rows and not array.flags.c_contiguous:
        raise ValueError(
            f"{name}: the array of shape {array.shape} and strides {array.strides} is not"
            " contiguous: pass np.ascontiguousarray(array) or rvsim.arg(array, row_stride=elements)"
        )


def _inner_dimensions(target: Type) -> tuple[int, ...]:
    found = []
    while isinstance(target, Array):
        found.append(target.count or 0)
        target = target.element
    return tuple(found)


def _element(target: Type) -> Type:
    while isinstance(target, Array):
        target = target.element
    return target


@lru_cache(maxsize=256)
def _wrong_dtype(dtype: np.dtype[Any], element: Type) -> str | None:
    """Why elements of a dtype are none of a C type; None if they are."""
    if dtype.hasobject:
        return "an array of Python objects has no bytes of its own: give it a dtype"
    match element:
        case Void():
            return None
        case Integer(name="char"):
            return None
        case Structure(size=size) | Float(size=size) | Integer(size=size) | Enumeration(size=size):
            fits = dtype.itemsize == size and _same_kind(dtype, element)
        case Vector():
            return "a vector register is no element of memory"
        case _:
            return None
    if fits:
        return None
    wanted = _dtype_name(element)
    hint = f".view(np.{wanted})" if dtype.itemsize == element.size else f".astype(np.{wanted})"
    return f"an array of {dtype} is passed where C has {element.name}: pass array{hint}"


def _same_kind(dtype: np.dtype[Any], element: Type) -> bool:
    match element:
        case Structure():
            return True
        case Float(format=form):
            return dtype.name in _SAME_BITS.get(form, ())
        case Enumeration():
            return dtype.kind in "iu"
        case Integer(name=name, signed=signed):
            if "bool" in name.lower():
                return dtype.kind in "bu"
            # C has no name for most small floats: kernels keep them in unsigned integers.
            small_float = not signed and dtype.kind in "fV" and dtype.itemsize <= 2
            return (
                dtype.kind == ("i" if signed else "u")
                or small_float
                or (dtype.kind == "b" and not signed)
            )
    return False


def _dtype_name(element: Type) -> str:
    match element:
        case Float(size=size):
            return f"float{8 * size}"
        case Integer(size=size, signed=signed) | Enumeration(size=size, signed=signed):
            return f"{'int' if signed else 'uint'}{8 * size}"
    return "dtype([...])"
