"""Signals that a process sends to itself, by a call or by a fault.

A handler runs on a frame that is laid out as Linux lays it out on RISC-V, vector state included, so
that programs which look into it, or change the pc there, work.  Signals arrive after a system call,
at a faulting instruction, or between two instructions when a timer has expired.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from rvsim.guest.linux.errno import EAGAIN, EINTR, EINVAL, ENOMEM, EPERM, CallError
from rvsim.guest.linux.status import USER_ID
from rvsim.guest.linux.system import PROCESS_ID, UNLIMITED
from rvsim.guest.linux.table import BlockedForEver, ProcessExit
from rvsim.guest.linux.vector import VectorInCalls
from rvsim.hart.memory import PAGE, Memory, R, W, X
from rvsim.hart.state import State
from rvsim.hart.words import WORD_MASK
from rvsim.vec.vtype import VILL, VType

SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGPIPE = 4, 5, 6, 7, 8, 9, 11, 13
SIGNALS: Final = 64
_NAME_LIST: Final = """
HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP
TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS
"""
NAMES: Final = dict(enumerate(_NAME_LIST.split(), start=1))
"""Names of the signals, without SIG."""

_SIGSTOP: Final = 19
_UNBLOCKABLE: Final = 1 << SIGKILL - 1 | 1 << _SIGSTOP - 1
_IGNORED: Final = frozenset({17, 18, 23, 28})  # SIGCHLD, SIGCONT, SIGURG, SIGWINCH
_STOPS: Final = frozenset({19, 20, 21, 22})
_SIG_DFL, SIG_IGN = 0, 1
_SA_ONSTACK, _SA_RESTART = 0x0800_0000, 0x1000_0000
_SA_NODEFER, _SA_RESETHAND = 0x4000_0000, 0x8000_0000
_SS_ONSTACK, _SS_DISABLE = 1, 2
_MIN_ALTERNATE: Final = 2048
SI_TKILL, SI_TIMER, SI_USER, SI_KERNEL = -6, -2, 0, 0x80
SIGRTMIN: Final = 32
"""From here on signals queue up; below there is one of a kind."""

# struct rt_sigframe: siginfo (128 bytes), then ucontext with the registers at its offset 176
_UCONTEXT, _MASK, _REGISTERS, _FLOATS, _EXTENSIONS = 128, 168, 304, 560, 1080
_FRAME: Final = 1088
_VECTOR_MAGIC: Final = 0x5346_5457
_VECTOR_HEAD: Final = 56
"""Magic, size, then vstart, vl, vtype, vcsr, vlenb and a pointer to the registers."""

_END_MARK: Final = 8
_TRAMPOLINE: Final = struct.pack("<II", 139 << 20 | 17 << 7 | 0x13, 0x73)  # li a7, 139; ecall
_RA, _SP, _A0, _A1, _A2 = 1, 2, 10, 11, 12


@dataclass(frozen=True, slots=True)
class Action:
    """What a signal does: ``struct sigaction`` as the kernel has it."""

    handler: int = _SIG_DFL
    flags: int = 0
    mask: int = 0


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal that was sent; `code` and what follows it are siginfo's."""

    number: int
    code: int = SI_USER
    detail: bytes = struct.pack("<iI", PROCESS_ID, USER_ID)

    def info(self) -> bytes:
        """The 128 bytes of ``siginfo_t``."""
        return (struct.pack("<iii4x", self.number, 0, self.code) + self.detail).ljust(128, b"\0")


@dataclass(slots=True)
class Signals:
    """The process's signal actions, its mask, and what is pending."""

    memory: Memory
    most_queued: Callable[[], int] = lambda: UNLIMITED
    """RLIMIT_SIGPENDING."""
    note: Callable[[str], object] = lambda text: None
    vector: VectorInCalls = field(default_factory=VectorInCalls)
    actions: dict[int, Action] = field(default_factory=dict)
    mask: int = 0
    pending_bits: int = 0
    """The set of signals that are pending."""
    sent: int = 0
    """How many have become pending so far."""
    queued: int = 0
    """How many are pending; of a kind that queues up, each one counts."""
    saved_mask: int | None = None
    """The mask to come back to after `rt_sigsuspend` and the like."""
    stack: tuple[int, int] | None = None
    """Start and size of the alternate stack."""
    _queues: dict[int, deque[Signal]] = field(default_factory=dict)
    _wakes: int | None = None
    """The signals that are not ignored, if it is known."""
    _trampoline: int = 0

    def send(self, signal: Signal) -> None:
        """Make a signal pending; EAGAIN if there are too many of the kind that queues up."""
        number = signal.number
        if number < SIGRTMIN:
            if self.pending_bits >> number - 1 & 1:
                return
        elif self.queued >= self.most_queued():
            raise CallError(EAGAIN)
        self._queues.setdefault(number, deque()).append(signal)
        self.queued += 1
        self.sent += 1
        self.pending_bits |= 1 << number - 1

    def take(self, wanted: int) -> Signal | None:
        """Remove and give the pending signal with the lowest number of a set."""
        bits = self.pending_bits & wanted
        if not bits:
            return None
        number = (bits & -bits).bit_length()
        queue = self._queues[number]
        signal = queue.popleft()
        self.queued -= 1
        if not queue:
            self.pending_bits &= ~(1 << number - 1)
        return signal

    @property
    def interrupting(self) -> int:
        """The set of signals that end a wait: they are neither blocked nor ignored."""
        if self._wakes is None:
            self._wakes = sum(1 << n - 1 for n in range(1, SIGNALS + 1) if not self._ignored(n))
        return self._wakes & ~self.mask

    def act_on(self, number: int, action: Action) -> None:
        """Choose what a signal does."""
        self.actions[number] = action
        self._wakes = None
        if self._ignored(number):
            while self.take(1 << number - 1):
                pass

    def _ignored(self, number: int) -> bool:
        handler = self.actions.get(number, Action()).handler
        return handler == SIG_IGN or (handler == _SIG_DFL and number in _IGNORED)

    def restarts(self) -> bool:
        """Whether a call that the next signal has interrupted begins anew after its handler."""
        bits = self.pending_bits & self.interrupting
        action = self.actions.get((bits & -bits).bit_length(), Action())
        return action.handler not in (_SIG_DFL, SIG_IGN) and bool(action.flags & _SA_RESTART)

    @contextmanager
    def masked(self, mask: int | None) -> Iterator[None]:
        """Another mask while a call waits; a signal that ends the wait is handled under it."""
        before = self.mask
        if mask is not None:
            self.set_mask(mask)
        try:
            yield
        except CallError as error:
            if error.code == EINTR and mask is not None:
                self.saved_mask = before
            raise
        finally:
            if self.saved_mask is None:
                self.mask = before

    def set_mask(self, mask: int) -> None:
        """Block signals; SIGKILL and SIGSTOP can't be."""
        self.mask = mask & ~_UNBLOCKABLE & WORD_MASK

    def on_stack(self, sp: int) -> bool:
        """Whether the alternate stack is in use."""
        return self.stack is not None and self.stack[0] < sp <= sum(self.stack)

    def set_stack(self, addr: int, flags: int, size: int, state: State) -> int:
        """`sigaltstack`: 0, or an error; as on Linux, a stack has to be larger than a frame now.

        That of a program which has not used the vector unit yet may become larger later.
        """
        if self.on_stack(state.x[_SP]):
            return EPERM
        if flags not in (0, _SS_DISABLE, _SS_ONSTACK):
            return EINVAL
        if flags != _SS_DISABLE and (size < _MIN_ALTERNATE or size <= self._frame_size(state)):
            return ENOMEM
        self.stack = None if flags & _SS_DISABLE else (addr, size)
        return 0

    def stack_words(self, sp: int) -> tuple[int, int, int]:
        """Address, flags and size as ``stack_t`` has them."""
        if self.stack is None:
            return 0, _SS_DISABLE, 0
        return self.stack[0], _SS_ONSTACK * self.on_stack(sp), self.stack[1]

    # Delivery

    def deliver(self, state: State) -> None:
        """Act on what is pending and not blocked; raises `ProcessExit` if that ends the process."""
        while (signal := self.take(~self.mask)) is not None:
            self._act(signal, state)  # handlers stack up, and so the last signal's runs first
        self._restore_mask()

    def fault(self, signal: Signal, state: State) -> bool:
        """Run the handler of a fault; False if there is none, or it is blocked: a trap."""
        action = self.actions.get(signal.number, Action())
        if action.handler in (_SIG_DFL, SIG_IGN) or self.mask >> signal.number - 1 & 1:
            return False
        try:
            return self._act(signal, state)
        except ProcessExit:  # no room for the frame: the fault itself is what there is to report
            return False

    def _restore_mask(self) -> None:
        if self.saved_mask is not None:
            self.mask, self.saved_mask = self.saved_mask, None

    def _act(self, signal: Signal, state: State) -> bool:
        """Whether a handler runs now."""
        action = self.actions.get(signal.number, Action())
        number = signal.number
        if self._ignored(number):
            return False
        if action.handler == _SIG_DFL:
            if number in _STOPS:
                raise BlockedForEver(f"SIG{NAMES[number]} stopped it and nobody can continue it")
            raise Killed(number)
        self._enter(signal, action, state)
        if action.flags & _SA_RESETHAND:
            self.act_on(number, Action())
        blocked = action.mask | (0 if action.flags & _SA_NODEFER else 1 << number - 1)
        self.set_mask(self.mask | blocked)
        return True

    def _frame_size(self, state: State) -> int:
        """The vector state is saved from the first use of the unit on."""
        return frame_size(state.vlenb if self.vector.is_used(state) else 0)

    def _enter(self, signal: Signal, action: Action, state: State) -> None:
        """Build the frame and go to the handler, which returns to the trampoline."""
        vector = _vector_state(state) if self.vector.is_used(state) else b""
        sp = state.x[_SP]
        if action.flags & _SA_ONSTACK and self.stack is not None and not self.on_stack(sp):
            sp = sum(self.stack)
        size = self._frame_size(state)
        frame = (sp - size) & ~15 & WORD_MASK
        if self.on_stack(sp) and self.stack is not None and frame < self.stack[0]:
            self._overflow(size, is_nested=sp == state.x[_SP])
        content = bytearray(_FRAME) + vector
        content[:_UCONTEXT] = signal.info()
        content[_UCONTEXT + 16 : _UCONTEXT + 40] = struct.pack(
            "<QiiQ", *_stack_t(self.stack_words(state.x[_SP]))
        )
        mask = self.mask if self.saved_mask is None else self.saved_mask
        self.saved_mask = None
        content[_MASK : _MASK + 8] = mask.to_bytes(8, "little")
        content[_REGISTERS:_FLOATS] = struct.pack("<32Q", state["pc"], *state.x[1:32])
        content[_FLOATS : _FLOATS + 260] = struct.pack("<32QI", *state.f, _fcsr(state))
        if vector:
            pointer = frame + _FRAME + _VECTOR_HEAD - 8
            content[_EXTENSIONS : _FRAME + _VECTOR_HEAD - 8] = _vector_head(state, pointer)
        if not self.memory.span_ok(frame, len(content), W):
            raise Killed(SIGSEGV)
        self.memory.write(frame, bytes(content))
        state["reservation_valid"] = 0
        state["pc"] = action.handler
        state.x[_RA] = self._return_address()
        state.x[_SP] = frame
        state.x[_A0], state.x[_A1], state.x[_A2] = signal.number, frame, frame + _UCONTEXT

    def _overflow(self, size: int, *, is_nested: bool) -> None:
        """Say that the alternate stack is too small; what is below it is overwritten.

        As on Linux, only a handler that is on that stack already makes it an end of the program.
        """
        assert self.stack is not None
        start, length = self.stack
        self.note(
            f"the alternate signal stack of {length} bytes at {start:#x} is too small for a signal"
            f" frame of {size} bytes: getauxval(AT_MINSIGSTKSZ) tells how much a frame takes"
        )
        if is_nested:
            raise Killed(SIGSEGV)

    def _return_address(self) -> int:
        """Where a handler returns to: on Linux this is in the vDSO."""
        if not self._trampoline:
            page = self.memory.find_free(PAGE)
            if page is None or self.memory.left < PAGE:
                raise Killed(SIGSEGV)
            self.memory.map(page, PAGE, R | X)
            self.memory.write(page, _TRAMPOLINE)
            self._trampoline = page
        return self._trampoline

    def leave(self, state: State) -> None:
        """`rt_sigreturn`: take all registers and the mask back from the frame at sp."""
        frame = state.x[_SP]
        if not self.memory.span_ok(frame, _FRAME, R):
            raise Killed(SIGSEGV)
        content = self.memory.read(frame, _FRAME)
        self.set_mask(int.from_bytes(content[_MASK : _MASK + 8], "little"))
        pc, *registers = struct.unpack_from("<32Q", content, _REGISTERS)
        state["pc"] = pc & ~1
        for i, value in enumerate(registers, start=1):
            state.x[i] = value
        *floats, fcsr = struct.unpack_from("<32QI", content, _FLOATS)
        for i, value in enumerate(floats):
            state.f[i] = value
        state["fflags"], state["frm"] = fcsr & 31, fcsr >> 5 & 7
        magic, size = struct.unpack_from("<II", content, _EXTENSIONS)
        if magic == _VECTOR_MAGIC:
            self._restore_vector(state, frame + _FRAME, size)
        elif magic or size:
            raise Killed(SIGSEGV)

    def _restore_vector(self, state: State, addr: int, size: int) -> None:
        expected = _VECTOR_HEAD + 32 * state.vlenb
        if size != expected or not self.memory.span_ok(addr, size - 8, R):
            raise Killed(SIGSEGV)
        vstart, vl, vtype, vcsr, _, data = struct.unpack("<6Q", self.memory.read(addr, 48))
        if not self.memory.span_ok(data, 32 * state.vlenb, R):
            raise Killed(SIGSEGV)
        decoded = VType.decode(vtype)
        state["vtype"] = VILL if decoded is None else vtype
        state["vl"] = 0 if decoded is None else min(vl, decoded.vlmax(state.vlen))
        state["vstart"] = vstart & state.vlen - 1
        state["vxsat"], state["vxrm"] = vcsr & 1, vcsr >> 1 & 3
        state.vfile[:] = memoryview(self.memory.read(data, 32 * state.vlenb))


class Killed(ProcessExit):
    """The default action of a signal has ended the process."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = number


def _stack_t(words: tuple[int, int, int]) -> tuple[int, int, int, int]:
    addr, flags, size = words
    return addr, flags, 0, size


def _fcsr(state: State) -> int:
    return state["frm"] << 5 | state["fflags"]


def frame_size(vlenb: int) -> int:
    """Bytes that a signal frame takes with vector registers of so many bytes; 0 for none.

    This is AT_MINSIGSTKSZ: as Linux counts, with a whole head that in part lies in the fixed part.

    >>> frame_size(0), frame_size(32)
    (1088, 2176)
    """
    vector = _VECTOR_HEAD + 32 * vlenb + _END_MARK if vlenb else 0
    return -(-(_FRAME + vector) // 16) * 16


def _vector_state(state: State) -> bytes:
    """The part of the frame for vector state, with an empty head."""
    # the registers follow the head, whose first 8 bytes are in the fixed part; then an end mark
    return bytes(_VECTOR_HEAD - 8) + state.vfile.tobytes() + bytes(_END_MARK)


def _vector_head(state: State, pointer: int) -> bytes:
    return struct.pack(
        "<II6Q",
        *(_VECTOR_MAGIC, _VECTOR_HEAD + 32 * state.vlenb),
        *(state["vstart"], state["vl"], state["vtype"], state["vxrm"] << 1 | state["vxsat"]),
        *(state.vlenb, pointer),
    )


def check_number(number: int) -> int:
    """A signal's number; EINVAL for one that there isn't."""
    if not 0 < number <= SIGNALS:
        raise CallError(EINVAL)
    return number
