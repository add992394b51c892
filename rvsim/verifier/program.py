"""A program, and its functions: Python calls them as ctypes calls those of a library."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from rvsim.errors import RvsimError, did_you_mean
from rvsim.guest.c_types import VOID, Function, Parameter
from rvsim.guest.debug_types import DebugTypes
from rvsim.guest.elf import Image
from rvsim.guest.symbols import OBJECT
from rvsim.hart.memory import X
from rvsim.insn.decode import decode_all
from rvsim.machine.options import RunOptions
from rvsim.profiles import core_of
from rvsim.toolchain import build_callable, build_kernel
from rvsim.verifier.arguments import Argument
from rvsim.verifier.binding import Binding, parameters_of, type_of
from rvsim.verifier.call import Call, Request, Times
from rvsim.verifier.ctypes_classes import class_of
from rvsim.verifier.loaded_program import MEMORY, MOST_INSNS, LoadedProgram, Moment
from rvsim.verifier.perform import perform
from rvsim.verifier.python_types import type_from


class Kernel:
    """A function that Python calls: arrays are passed by pointer, numbers in registers.

    Its C type comes from the program's debug information; `argtypes` and `restype` replace it, as
    those of ctypes do.  Without either it is taken from the values of each call, and nothing is
    returned.
    """

    def __init__(
        self, program: GuestProgram, name: str, address: int, type: Function | None
    ) -> None:
        self.program = program
        self.name = name
        self.address = address
        self.type = type

    def of(self, program: GuestProgram) -> Kernel:
        """The same function where the program runs with other options."""
        if program is self.program:
            return self
        return Kernel(program, self.name, self.address, self.type)

    def __repr__(self) -> str:
        return f"<{self.name} of {self.program.path.name}>"

    @property
    def argtypes(self) -> list[Any] | None:
        """Types of the parameters, as ctypes has them; None if they are not known."""
        return None if self.type is None else [p.type for p in self.type.parameters]

    @argtypes.setter
    def argtypes(self, types: Sequence[Any]) -> None:
        result = VOID if self.type is None else self.type.result
        names = [p.name for p in self.type.parameters] if self.type is not None else []
        names += [f"argument {number + 1}" for number in range(len(names), len(types))]
        parameters = tuple(
            Parameter(name, type_from(each)) for name, each in zip(names, types, strict=False)
        )
        self.type = Function(result, parameters, name=self.name)

    @property
    def restype(self) -> Any:
        """Type of the result; None if there is none."""
        return None if self.type is None else self.type.result

    @restype.setter
    def restype(self, type: Any) -> None:
        known = self.type or Function(VOID, (), is_variadic=True, name=self.name)
        self.type = replace(known, result=type_from(type))

    def __call__(
        self,
        *arguments: Any,
        inputs: Collection[str] = (),
        fresh: bool = False,
        max_insns: int = MOST_INSNS,
        **named: Any,
    ) -> Call:
        """Call the function; what it writes is in the arrays after that.

        `named` arguments come after the others, by the names of the parameters.  The kernel only
        reads arrays of the parameters that `inputs` names, as those behind pointers to const and
        those that are not writeable.  A `fresh` call finds memory as it was when the program had
        been loaded.

        Raises TypeError or ValueError for arguments that do not fit, before anything runs, and
        `CallFailed` if the function does not return within `max_insns` instructions.
        """
        request = self.request(arguments, named, inputs, max_insns)
        guest = self.program.guest
        with guest.in_use():
            if fresh:
                guest.refresh()
            before = guest.moment()
            again = replace(request, arguments=_copies(request.arguments))
            call = perform(guest, request)
        call.times = partial(self._timed, again, before)
        return call

    def _timed(self, request: Request, before: Moment | None) -> Times:
        """Make the call again on a machine that counts cycles."""
        if before is None:
            raise RvsimError(
                f"no cycles of {self.name}: an earlier call has made a system call",
                hint="call with fresh=True",
            )
        program = self.program.at(cost=core_of(self.program.options.cpu))
        guest = program.guest
        with guest.in_use():
            guest.refresh()
            guest.go_to(before)
            perform(guest, request)
            return guest.times()

    def request(
        self,
        arguments: Sequence[Any],
        named: dict[str, Any],
        inputs: Collection[str] = (),
        max_insns: int = MOST_INSNS,
    ) -> Request:
        """A call with these arguments, which has not been made."""
        values = self._in_order(arguments, named)
        type = self.type or _inferred(self.name, values)
        parameters = parameters_of(type, values)
        binding = Binding(inputs, self.program.guest.callback_address)
        for parameter, value in zip(parameters, values, strict=True):
            binding.add(parameter, value)
        return Request(
            self.name,
            self.address,
            type,
            tuple(parameter.type for parameter in parameters[len(type.parameters) :]),
            tuple(binding.values),
            tuple(binding.arguments),
            tuple(binding.extents),
            binding.groups(),
            tuple(binding.names),
            tuple(binding.callbacks),
            max_insns,
        )

    def _in_order(self, arguments: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        if not named:
            return list(arguments)
        known = () if self.type is None else self.type.parameters[len(arguments) :]
        values = [*arguments, *(named.pop(p.name) for p in known if p.name in named)]
        if named:
            raise TypeError(f"{self.name}() has no parameter {', '.join(named)} that is left")
        return values


class Types:
    """Types of C by their names, as classes of ctypes."""

    def __init__(self, known: DebugTypes) -> None:
        self._known = known

    def __getitem__(self, name: str) -> Any:
        return class_of(self._known.named(name))


class GuestProgram:
    """Functions and globals of an executable, by their names.

    A function is a `Kernel`, a variable an array that shows it in guest memory.  The program keeps
    its memory from call to call, as a library that ctypes has loaded does.

    >>> program = open_program("gemm_tile_s8")
    >>> program["gemm_tile_s8"].name
    'gemm_tile_s8'
    """

    def __init__(self, path: Path, options: RunOptions) -> None:
        self.path = path
        self.options = options
        self._others: dict[RunOptions, GuestProgram] = {options: self}

    @cached_property
    def guest(self) -> LoadedProgram:
        """The machine that runs it."""
        return LoadedProgram(self.path, self.options)

    def at(self, **changes: Any) -> GuestProgram:
        """The same program on a machine with other options; it has a memory of its own."""
        options = self.options.but(**changes)
        if options not in self._others:
            other = GuestProgram(self.path, options)
            other._others = self._others
            self._others[options] = other
        return self._others[options]

    def __getitem__(self, name: str) -> Any:
        symbol = self.guest.image.symbols.find(name)
        if symbol is None:
            raise self._unknown(name)
        if symbol.kind == OBJECT:
            return self._variable(name, symbol.addr, symbol.limit - symbol.addr)
        return Kernel(self, name, symbol.addr, _type_of(self.guest.image, name, symbol.addr))

    def _variable(self, name: str, address: int, size: int) -> npt.NDArray[Any]:
        """A view of guest memory, of bytes if nobody knows the type."""
        octets: npt.NDArray[Any] = self.guest.machine.memory.data[address : address + size]
        type = self.guest.image.types.variable(name)
        if type is None or type.size != size:
            return octets
        dtype = np.dtype(class_of(type))
        found: npt.NDArray[Any] = octets.view(dtype.base).reshape(dtype.shape)
        return found

    @property
    def types(self) -> Types:
        """Structures, unions and enums of the program by their names, as classes of ctypes."""
        return Types(self.guest.image.types)

    def __contains__(self, name: str) -> bool:
        return self.guest.image.symbols.find(name) is not None

    @cached_property
    def has_float_sums(self) -> bool:
        """Whether any of its instructions is a floating-point reduction."""
        image, memory = self.guest.image, self.guest.machine.memory
        return any(
            d.insn is not None and d.insn.unit.is_reduction and d.insn.unit.is_float
            for s in image.segments
            if s.perm & X
            for d in decode_all(memory.read(s.addr, s.end - s.addr & -2), s.addr)
        )

    def _unknown(self, name: str) -> RvsimError:
        names = self.guest.image.symbols.names()
        if not names:
            return RvsimError(f"{self.path} has no symbols", hint="build it without -s or strip")
        mangled = [other for other in names if other.startswith("_Z") and name in other]
        hint = (
            f'C++ calls it {" or ".join(mangled[:4])}: or declare it extern "C"'
            if mangled
            else did_you_mean(name, names, most=3)
        )
        return RvsimError(f"{self.path} has no function or variable {name!r}", hint=hint)


def _type_of(image: Image, name: str, address: int) -> Function | None:
    """The type of a function: not of another one whose copy it is, see `DebugTypes.function_at`."""
    found = image.types.function_at(address)
    return found if found is not None and found.name == name else image.types.function(name)


def open_program(source: str | Path, **options: Any) -> GuestProgram:
    """A program whose functions are called: an executable, or the name of a bundled kernel.

    `options` are those of `rvsim.machine.RunOptions`.  The program has 256 MiB of memory unless
    `memory_size` says otherwise.

    Raises `RvsimError` if there is no such file, or it is no executable.
    """
    chosen = RunOptions(**{"memory_size": MEMORY, **options})
    path = Path(source)
    if not path.exists() and path.name == str(source):
        return GuestProgram(build_kernel(str(source), cpu=chosen.cpu), chosen)
    return GuestProgram(path, chosen)


def compile_program(
    *sources: str | Path,
    flags: Sequence[str] = (),
    include: Sequence[str | Path] = (),
    macros: Mapping[str, Any] = MappingProxyType({}),
    **options: Any,
) -> GuestProgram:
    """A program made of C and assembly files, whose functions are called.

    They are compiled for the option `cpu`, as `rvsim build` does, with all functions that the
    compiler keeps.  `flags` are for the compiler, `include` are folders of headers, and `macros`
    are defined.  A file needs no `main`.  `options` are those of `rvsim.machine.RunOptions`.

    Raises `CompileError` with the compiler's text.
    """
    given = [*flags, *(f"-I{folder}" for folder in include)]
    given += [
        f"-D{name}" if value is None else f"-D{name}={value}" for name, value in macros.items()
    ]
    chosen = RunOptions(**{"memory_size": MEMORY, **options})
    built = build_callable([Path(source) for source in sources], flags=given, cpu=chosen.cpu)
    return GuestProgram(built, chosen)


def _copies(arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """The same arguments with arrays of their own; the request knows which share memory."""
    return tuple(replace(argument, array=argument.array.copy()) for argument in arguments)


def _inferred(name: str, values: Sequence[Any]) -> Function:
    parameters = tuple(
        Parameter(f"argument {n + 1}", type_of(value)) for n, value in enumerate(values)
    )
    return Function(VOID, parameters, name=name)
