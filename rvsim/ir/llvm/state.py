"""Where compiled code finds the state of the hart: an interface, and the one-buffer form of it.

The rules of `rvsim.ir.llvm.backend` know no place of a register.  `BufferState` loads and stores
the buffer of `rvsim.hart.state` each time; a compiler of regions keeps registers in SSA values
instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rvsim.hart.state import F_BASE, SLOT, V_OFFSET, X_BASE
from rvsim.ir.llvm.build import I64, at, total_bits
from rvsim.ir.program import Subprogram


class StateAccess(ABC):
    """Reads and writes of named state while a function is built; `b` is its builder."""

    @abstractmethod
    def read(self, b: Any, name: str) -> Any:
        """The 64-bit word of a named scalar."""

    @abstractmethod
    def write(self, b: Any, name: str, value: Any) -> None: ...

    @abstractmethod
    def read_x(self, b: Any, register: int) -> Any:
        """An x register other than x0."""

    @abstractmethod
    def write_x(self, b: Any, register: int, value: Any) -> None: ...

    @abstractmethod
    def read_f(self, b: Any, register: int) -> Any:
        """The 64 bits of an f register."""

    @abstractmethod
    def write_f(self, b: Any, register: int, value: Any) -> None: ...

    @abstractmethod
    def read_v(self, b: Any, register: int, byte_offset: int, type_: Any) -> Any:
        """A value of LLVM type `type_` from that byte of the register on."""

    @abstractmethod
    def write_v(self, b: Any, register: int, byte_offset: int, value: Any) -> None: ...

    @abstractmethod
    def read_array(self, b: Any, name: str, index: Any) -> Any:
        """An element of a named array (`rvsim.hart.state.State.arrays`)."""

    @abstractmethod
    def write_array(self, b: Any, name: str, index: Any, value: Any) -> None: ...

    @abstractmethod
    def invoke(self, b: Any, subprogram: Subprogram, args: Sequence[Any]) -> Any:
        """Call the function of a subprogram, which finds state where this does."""

    @abstractmethod
    def trap(self, b: Any, cause: int, tval: Any, why: str) -> None:
        """Leave with a trap: ends the block that `b` is in."""


class BufferState(StateAccess):
    """State in the buffer at `base`; a trap is left in its words and the function returns 1.

    `arrays` holds the byte offset of each named array in the buffer; what is written to an array
    that is not among them is dropped.  `function` makes the LLVM function of a subprogram,
    ``i64 f(ptr state, i64 ...)``, in the module of a builder.
    """

    def __init__(
        self,
        base: Any,
        vlen: int,
        whys: list[str],
        arrays: Mapping[str, int] | None = None,
        function: Callable[[Any, Subprogram], Any] | None = None,
    ) -> None:
        self.base = base
        self.vlenb = vlen // 8
        self.whys = whys
        self.arrays = arrays or {}
        self.function = function

    def _word(self, b: Any, index: int) -> Any:
        return at(b, self.base, 8 * index)

    def _v(self, b: Any, register: int, byte_offset: int, type_: Any) -> Any:
        start = register * self.vlenb + byte_offset
        if start + total_bits(type_) // 8 > 32 * self.vlenb:
            raise ValueError(f"{type_} at v{register} reaches past v31")
        return at(b, self.base, V_OFFSET + start)

    def read(self, b: Any, name: str) -> Any:
        return b.load(self._word(b, SLOT[name]), typ=I64)

    def write(self, b: Any, name: str, value: Any) -> None:
        b.store(value, self._word(b, SLOT[name]))

    def read_x(self, b: Any, register: int) -> Any:
        return b.load(self._word(b, X_BASE + register), typ=I64)

    def write_x(self, b: Any, register: int, value: Any) -> None:
        b.store(value, self._word(b, X_BASE + register))

    def read_f(self, b: Any, register: int) -> Any:
        return b.load(self._word(b, F_BASE + register), typ=I64)

    def write_f(self, b: Any, register: int, value: Any) -> None:
        b.store(value, self._word(b, F_BASE + register))

    def read_v(self, b: Any, register: int, byte_offset: int, type_: Any) -> Any:
        return b.load(self._v(b, register, byte_offset, type_), typ=type_, align=1)

    def write_v(self, b: Any, register: int, byte_offset: int, value: Any) -> None:
        b.store(value, self._v(b, register, byte_offset, value.type), align=1)

    def _element(self, b: Any, name: str, index: Any) -> Any:
        return at(b, at(b, self.base, self.arrays[name]), index, I64)

    def read_array(self, b: Any, name: str, index: Any) -> Any:
        return b.load(self._element(b, name, index), typ=I64)

    def write_array(self, b: Any, name: str, index: Any, value: Any) -> None:
        if name in self.arrays:
            b.store(value, self._element(b, name, index))

    def invoke(self, b: Any, subprogram: Subprogram, args: Sequence[Any]) -> Any:
        assert self.function is not None, f"nothing makes the function {subprogram.name}"
        return b.call(self.function(b.module, subprogram), [self.base, *args])

    def trap(self, b: Any, cause: int, tval: Any, why: str) -> None:
        if why not in self.whys:
            self.whys.append(why)
        self.write(b, "trap_cause_plus_1", I64(cause + 1))
        self.write(b, "trap_tval", tval)
        self.write(b, "trap_why", I64(self.whys.index(why)))
        b.ret(I64(1))
