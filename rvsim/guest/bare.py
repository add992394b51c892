"""A bare-metal image: machine mode's traps, its memory, and the host at the end of ``tohost``.

The counterpart of `rvsim.guest.linux`: what surrounds an image that has a ``tohost`` symbol.  Its
page cannot be written, so that a message faults on either engine; the machine then executes the
store with the page open and lets `serve` read what came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from rvsim.errors import RvsimError
from rvsim.guest.elf import Image
from rvsim.hart.memory import PAGE, GuestFault, Memory, R, W, X
from rvsim.hart.page_rights import PageOwner
from rvsim.hart.state import State
from rvsim.hart.traps import Cause, Trap
from rvsim.hart.words import WORD_MASK
from rvsim.insn.base.machine_csrs import FS_OFF, M_MODE, MIE, MPIE, MPP, UXL, VS_OFF

RAM_SIZE: Final = 64 << 20
"""Bytes of memory from the first page of each segment."""

_A0, _A1 = 10, 11
_WRITE, _EXIT = 64, 93
_ENOSYS, _EFAULT, _EBADF = -38, -14, -9
_UNKNOWN_EXCEPTION: Final = 1337
"""The bits that riscv-tests sets in tohost for an exception that no test expects."""


Sink = BinaryIO | Callable[[bytes], object]
"""Where the output of a `write` goes."""


class HostExit(Exception):
    """The image has ended itself by a message, with an exit code for a shell."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class BareMetal:
    """The surroundings of one image.

    `note` gets a line for a failed test and for what the host does not understand, `place` names an
    address in it.
    """

    def __init__(
        self,
        memory: Memory,
        image: Image,
        *,
        stdout: Sink = lambda output: None,
        stderr: Sink = lambda output: None,
        note: Callable[[str], object] = lambda line: None,
        place: Callable[[int], str] = hex,
    ) -> None:
        tohost = image.tohost
        if tohost is None or tohost % 8 or tohost > memory.limit - 8:
            where = "no tohost symbol" if tohost is None else f"tohost at {tohost:#x}"
            raise RvsimError(f"{image.name}: {where} in the guest's {memory.limit:#x} bytes")
        self.memory = memory
        self.image = image
        self.tohost = tohost
        self.fromhost = image.symbols.address("fromhost")
        self._sinks = {
            1: stdout if callable(stdout) else stdout.write,
            2: stderr if callable(stderr) else stderr.write,
        }
        self._note = note
        self._place = place
        self._noted: set[str] = set()
        self._map_ram()
        self._page = tohost // PAGE
        self._guard = PageOwner()
        self._close_page()

    def _map_ram(self) -> None:
        """Memory that can be read, written and executed, segments or not."""
        memory = self.memory
        segments = sorted(self.image.segments, key=lambda s: s.addr)
        starts = [s.addr // PAGE * PAGE for s in segments]
        for s, start, following in zip(segments, starts, [*starts[1:], memory.limit], strict=True):
            memory.protect(start, s.end - start, R | W | X)
            free, end = -(-s.end // PAGE) * PAGE, min(start + RAM_SIZE, following)
            if free < end:
                memory.map(free, end - free, R | W | X)
        if not memory.mapped(self.tohost, 8):
            memory.map(self.tohost // PAGE * PAGE, PAGE, R | W | X)

    def start(self, state: State) -> None:
        """The state after a reset: machine mode, FS and VS off; hart 0, and no device tree."""
        self._state = state
        state.x[_A0] = state.x[_A1] = 0
        state["pc"] = self.image.entry
        state["privilege"] = M_MODE
        state["mstatus"] = UXL
        state["units_off"] = FS_OFF | VS_OFF

    # -- traps (Privileged 3.1.6, 3.1.7)

    def unhandled(self, trap: Trap, state: State) -> str | None:
        """Why nothing can handle a trap, if so."""
        handler = state["mtvec"] & ~3
        if not handler:
            return "mtvec is 0: the image has set no trap handler"
        if trap.pc == handler and state["privilege"] == M_MODE:
            return (
                f"the first instruction of the trap handler traps, and would for ever: {handler:#x}"
            )
        return None

    def enter_handler(self, trap: Trap, state: State) -> bool:
        """Take a trap to machine mode, if anything there can handle it."""
        if self.unhandled(trap, state) is not None:
            return False
        status = state["mstatus"]
        enabled = MPIE if status & MIE else 0
        mode = MPP if state["privilege"] == M_MODE else 0
        state["mstatus"] = status & ~(MIE | MPIE | MPP) | enabled | mode
        state["privilege"] = M_MODE
        state["mepc"], state["mcause"], state["mtval"] = trap.pc, trap.cause, trap.tval & WORD_MASK
        state["pc"] = state["mtvec"] & ~3
        return True

    # -- messages to the host (HTIF)

    def is_message(self, trap: Trap) -> bool:
        """Whether a trap is a store to the page of tohost."""
        return trap.cause == Cause.STORE_ACCESS_FAULT and trap.tval // PAGE == self._page

    @contextmanager
    def page_open(self) -> Iterator[None]:
        """Let a store to the page of tohost through."""
        self.memory.rights.give_back(self._guard, self._page)
        try:
            yield
        finally:
            self._close_page()

    def _close_page(self) -> None:
        self.memory.rights.deny(self._guard, self._page, W)

    def serve(self) -> None:
        """Do what tohost asks for; `HostExit` if that is to end."""
        message = self._word(self.tohost)
        if not message:
            return
        device, command, payload = message >> 56, message >> 48 & 0xFF, message & (1 << 48) - 1
        if device == command == 0 and payload & 1:
            raise HostExit(self._ended(payload))
        self._set_word(self.tohost, 0)
        if (device, command) == (0, 0):
            self._proxy_call(payload)
        elif (device, command) == (1, 1):
            self._sinks[1](bytes([payload & 0xFF]))
            return
        else:
            self._name_once(f"tohost = {message:#x} asks for a device that is not there")
        if self.fromhost is not None:
            self._set_word(self.fromhost, message >> 48 << 48 | 1)

    def _ended(self, message: int) -> int:
        """The exit code for a test's number, which is named; a shell sees no more than 8 bits."""
        number = message >> 1
        if number:
            text = f"test {number} failed (tohost = {message:#x})"
            if message & _UNKNOWN_EXCEPTION == _UNKNOWN_EXCEPTION:
                cause, pc = self._state["mcause"], self._state["mepc"]
                text += f", perhaps by an exception: mcause {cause} at {self._place(pc)}"
            self._note(text)
        return min(number, 255)

    def _proxy_call(self, addr: int) -> None:
        """A system call for the host: number, arguments, and room for the result at `addr`."""
        try:
            number, *arguments = (self._word(addr + 8 * i) for i in range(4))
        except GuestFault:
            self._name_once(f"tohost = {addr:#x} is neither a system call nor an exit code")
            return
        if number == _EXIT:
            raise HostExit(self._ended(arguments[0] << 1 | 1))
        if number == _WRITE:
            result = self._write(*arguments)
        else:
            self._name_once(f"unknown system call {number} by tohost: ENOSYS")
            result = _ENOSYS
        self._set_word(addr, result & WORD_MASK)

    def _write(self, fd: int, addr: int, count: int) -> int:
        if fd not in self._sinks:
            return _EBADF
        try:
            content = self.memory.read(addr, count)
        except GuestFault:
            return _EFAULT
        self._sinks[fd](content)
        return count

    def _name_once(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._note(text)

    def _word(self, addr: int) -> int:
        return int.from_bytes(self.memory.read(addr, 8), "little")

    def _set_word(self, addr: int, value: int) -> None:
        self.memory.write(addr, value.to_bytes(8, "little"))
