"""The floating-point environment of the host: the one place that knows its control registers.

Compiled regions run with the guest's rounding mode in the host and with all exceptions masked; the
host's sticky flags collect what the guest's operations raise, until they are settled into fflags.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

from llvmlite import ir

from rvsim.ir.llvm.build import I32, I64, PTR, Frame

HOST_MODES: Final = 4
"""RNE, RTZ, RDN and RUP, the values of frm below it, have a host mode; RMM has none (F 2.2)."""

_GUEST_FLAGS: Final = ("nx", "uf", "of", "dz", "nv")
"""Flags of fflags from bit 0 (F 11.2)."""


class FloatEnv(ABC):
    """Reads and writes the host's rounding mode and sticky flags, in code under construction.

    `modes` are the host's numbers for RNE, RTZ, RDN and RUP; `flag_bits` the places of the host's
    flags for `_GUEST_FLAGS`.  `tiny_after_rounding`: whether UF is decided as RISC-V decides it.
    """

    modes: tuple[int, int, int, int]
    flag_bits: tuple[int, int, int, int, int]
    tiny_after_rounding: bool

    @abstractmethod
    def save(self, b: Any, frame: Frame) -> Any:
        """The environment as one value, for `restore`."""

    @abstractmethod
    def restore(self, b: Any, frame: Frame, saved: Any) -> None: ...

    @abstractmethod
    def set_mode(self, b: Any, frame: Frame, frm: Any) -> None:
        """Round as frm (an i64) says from here on; flags stay."""

    @abstractmethod
    def begin(self, b: Any, frame: Frame, frm: Any) -> None:
        """No flags, exceptions masked, subnormal numbers kept, and the mode of frm (an i64)."""

    @abstractmethod
    def take_flags(self, b: Any, frame: Frame) -> Any:
        """The flags raised since they were last taken, as fflags has them, in an i64."""

    def host_mode(self, b: Any, frm: Any) -> Any:
        """The host's number (an i64) for frm; that of RNE for what the host has no mode for."""
        table = sum(mode << 2 * i for i, mode in enumerate(self.modes))
        amount = b.shl(b.and_(frm, I64(7)), I64(1))
        return b.and_(b.lshr(I64(table), amount), I64(3))

    def as_fflags(self, b: Any, word: Any) -> Any:
        """The host's flags in `word` (an i32) as fflags (an i64)."""
        word = b.zext(word, I64)
        flags = I64(0)
        for place, bit in enumerate(self.flag_bits):
            flags = b.or_(flags, b.shl(b.and_(b.lshr(word, I64(bit)), I64(1)), I64(place)))
        return flags


class _Sse(FloatEnv):
    """MXCSR of x86-64: flags in bits 0 to 5, masks in 7 to 12, the mode in 13 and 14."""

    modes = (0, 3, 1, 2)
    flag_bits = (5, 4, 3, 2, 0)
    tiny_after_rounding = True
    _MASKED: Final = 0x1F80
    _MODE_AT: Final = 13

    def save(self, b: Any, frame: Frame) -> Any:
        slot = frame.array(1, 32)
        b.call(_declared(b, "llvm.x86.sse.stmxcsr", [PTR]), [slot])
        return b.load(slot, typ=I32)

    def restore(self, b: Any, frame: Frame, saved: Any) -> None:
        slot = frame.array(1, 32)
        b.store(saved, slot)
        b.call(_declared(b, "llvm.x86.sse.ldmxcsr", [PTR]), [slot])

    def _with_mode(self, b: Any, word: Any, frm: Any) -> Any:
        mode = b.trunc(self.host_mode(b, frm), I32)
        kept = b.and_(word, I32(~(3 << self._MODE_AT) & 0xFFFFFFFF))
        return b.or_(kept, b.shl(mode, I32(self._MODE_AT)))

    def set_mode(self, b: Any, frame: Frame, frm: Any) -> None:
        self.restore(b, frame, self._with_mode(b, self.save(b, frame), frm))

    def begin(self, b: Any, frame: Frame, frm: Any) -> None:
        self.restore(b, frame, self._with_mode(b, I32(self._MASKED), frm))

    def take_flags(self, b: Any, frame: Frame) -> Any:
        word = self.save(b, frame)
        self.restore(b, frame, b.and_(word, I32(~0x3F & 0xFFFFFFFF)))
        return self.as_fflags(b, word)


class _Arm(FloatEnv):
    """FPCR and FPSR of AArch64: the mode in bits 22 and 23 of one, flags in 0 to 4 of the other."""

    modes = (0, 3, 2, 1)
    flag_bits = (4, 3, 2, 1, 0)
    tiny_after_rounding = False
    _MODE_AT: Final = 22

    def save(self, b: Any, frame: Frame) -> Any:
        control, status = self._get(b, "fpcr"), self._get(b, "fpsr")
        return b.or_(control, b.shl(status, I64(32)))

    def restore(self, b: Any, frame: Frame, saved: Any) -> None:
        self._set(b, "fpcr", b.and_(saved, I64(0xFFFFFFFF)))
        self._set(b, "fpsr", b.lshr(saved, I64(32)))

    def set_mode(self, b: Any, frame: Frame, frm: Any) -> None:
        self._set(b, "fpcr", b.shl(self.host_mode(b, frm), I64(self._MODE_AT)))

    def begin(self, b: Any, frame: Frame, frm: Any) -> None:
        self.set_mode(b, frame, frm)
        self._set(b, "fpsr", I64(0))

    def take_flags(self, b: Any, frame: Frame) -> Any:
        status = self._get(b, "fpsr")
        self._set(b, "fpsr", I64(0))
        return self.as_fflags(b, b.trunc(status, I32))

    def _get(self, b: Any, register: str) -> Any:
        return b.call(_declared(b, f"llvm.aarch64.get.{register}", [], I64), [])

    def _set(self, b: Any, register: str, value: Any) -> None:
        b.call(_declared(b, f"llvm.aarch64.set.{register}", [I64]), [value])


def _declared(b: Any, name: str, parameters: list[Any], result: Any = None) -> Any:
    found = b.module.globals.get(name)
    if found is None:
        signature = ir.FunctionType(result or ir.VoidType(), parameters)
        found = ir.Function(b.module, signature, name)
    return found


def environment(arch: str) -> FloatEnv | None:
    """That of a host's architecture; None where we know none.

    >>> environment("aarch64").tiny_after_rounding
    False
    """
    match arch:
        case "x86_64":
            return _Sse()
        case "aarch64":
            return _Arm()
    return None
