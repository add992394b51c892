"""From the arguments of a call in Python to those of the C function: arrays, pointers, numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import numpy as np

from rvsim.guest.c_types import Function, Parameter, Pointer, Type, Void
from rvsim.verifier.area import Extent
from rvsim.verifier.arguments import Argument
from rvsim.verifier.call import Address, PointerTo, Value
from rvsim.verifier.fitting import check_array
from rvsim.verifier.python_types import type_of_value
from rvsim.verifier.sharing import Groups, grouped
from rvsim.verifier.values import encode

_NULL: Final = bytes(8)

PythonFunction = Callable[..., Any]


class Binding:
    """Gathers the arguments of one call: values, arrays behind pointers, and callbacks.

    `inputs` names parameters whose arrays the kernel only reads.
    """

    def __init__(self, inputs: Collection[str], callback_address: Callable[[int], int]) -> None:
        self._inputs = inputs
        self._callback_address = callback_address
        self.values: list[Value] = []
        self.arguments: list[Argument] = []
        self.extents: list[Extent] = []
        self.names: list[str] = []
        """Of the parameters that the arguments are passed for."""
        self.callbacks: list[tuple[PythonFunction, Function]] = []

    def add(self, parameter: Parameter, value: Any) -> None:
        """Bind the next parameter; TypeError or ValueError that names it if the value is wrong."""
        name, type = parameter.name, parameter.type
        self.values.append(
            self._pointer(name, value, type)
            if isinstance(type, Pointer)
            else encode(name, value, type)
        )

    def _pointer(self, name: str, value: Any, type: Pointer) -> Value:
        if value is None:
            return _NULL
        if isinstance(value, Address):
            return value.value.to_bytes(8, "little")
        if isinstance(type.target, Function):
            return self._function(name, value, type.target)
        argument = _as_argument(name, value, type.target)
        array = argument.array
        check_array(name, array, type.target, has_rows=argument.row_stride is not None)
        writes = argument.is_out or (
            bool(array.flags.writeable) and not type.const and name not in self._inputs
        )
        self.names.append(name)
        self.arguments.append(argument)
        self.extents.append(
            Extent(array.shape, array.dtype, writes, argument.placement, argument.row_stride)
        )
        return PointerTo(len(self.arguments) - 1)

    def groups(self) -> Groups:
        """Groups of arguments that share memory."""
        groups = grouped([argument.array for argument in self.arguments])
        for group in groups:
            if len(group) > 1 and any(self.arguments[n].row_stride is not None for n, _ in group):
                raise ValueError("arrays that share memory have no row_stride: pass copies")
        return groups

    def _function(self, name: str, value: Any, type: Function) -> Value:
        if not callable(value):
            raise TypeError(f"{name} is a pointer to a function: pass one of Python, not {value!r}")
        self.callbacks.append((value, type))
        return self._callback_address(len(self.callbacks) - 1).to_bytes(8, "little")


def _as_argument(name: str, value: Any, target: Type) -> Argument:
    """A value as an array with a placement."""
    match value:
        case Argument():
            return value
        case np.ndarray():
            return Argument(value)
        case np.generic():
            hint = f"np.array({value!r})"
        case str():
            hint = f"{value!r}.encode()"
        case bytes():
            return Argument(np.frombuffer(value + b"\0", np.uint8)) if value else Argument(_EMPTY)
        case bytearray() | memoryview():
            return Argument(np.frombuffer(value, np.uint8))
        case ctypes.Structure() | ctypes.Union() | ctypes.Array():
            return Argument(_of_ctypes(value, target))
        case int() | float() | bool():
            hint = f"np.array({value!r}, dtype), or an Address"
        case list() | tuple():
            hint = "np.array(..., dtype)"
        case _:
            hint = "a NumPy array"
    raise TypeError(f"{name} is a pointer, and {_shown(value)} is none: pass {hint}")


_EMPTY: Final = np.zeros(1, np.uint8)
_EMPTY.flags.writeable = False


def _of_ctypes(value: Any, target: Type) -> np.ndarray[Any, Any]:
    """The bytes of a ctypes object, which stay its own."""
    octets = np.frombuffer(value, np.uint8)
    size = target.size
    if size and not isinstance(target, Void) and octets.size % size == 0:
        return octets.view(np.dtype((np.void, size)))
    return octets


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"a {type(value).__name__}"


def parameters_of(function: Function, values: Sequence[Any]) -> list[Parameter]:
    """A parameter for each value; those after the last named one are variadic.

    Raises TypeError for too many or too few.
    """
    known = function.parameters
    if len(values) < len(known) or (len(values) > len(known) and not function.is_variadic):
        names = ", ".join(p.name for p in known)
        raise TypeError(
            f"{function.name}({names}) takes {len(known)} arguments, but {len(values)} were given"
        )
    more = [
        Parameter(f"argument {number + 1}", type_of(values[number]))
        for number in range(len(known), len(values))
    ]
    return [*known, *more]


def type_of(value: Any) -> Type:
    """The type that a value is passed as where nobody has said which."""
    return type_of_value(value.array if isinstance(value, Argument) else value)
