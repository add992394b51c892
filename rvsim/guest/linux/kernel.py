"""What the kernel does for a process: its system calls, and what faults and signals lead to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rvsim.guest.linux.calls import CALLS
from rvsim.guest.linux.clock import SECOND
from rvsim.guest.linux.errno import EINTR, ENOSYS, ERESTARTSYS, CallError
from rvsim.guest.linux.fault_signals import fault_signal
from rvsim.guest.linux.names import NAMES
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.signals import NAMES as SIGNAL_NAMES
from rvsim.guest.linux.signals import Killed
from rvsim.guest.linux.table import ProcessExit, SystemCall
from rvsim.hart.state import State
from rvsim.hart.traps import LACKED_RIGHT, Cause
from rvsim.hart.words import WORD_MASK

_SP, _A0, _A7 = 2, 10, 17
_RT_SIGRETURN: Final = 139
_ECALL_SIZE: Final = 4
_WIDEST_ACCESS: Final = 8


class LinuxKernel:
    """Serves one process; `strace` gets a line for each system call."""

    def __init__(
        self, process: LinuxProcess, strace: Callable[[str], object] | None = None
    ) -> None:
        self.process = process
        self.has_called = False
        """Whether the process has made a system call."""
        self._strace = strace

    def syscall(self, state: State) -> None:
        """Carry out the call that a7 and a0 to a5 ask for; the result goes to a0.

        The pc is past the call already: that is where a signal handler comes back to.  Raises
        `ProcessExit` if the process ends, `BlockedForEver` if it waits for what can't happen,
        `CutShort` if the deadline comes before the call has done anything.
        """
        process, number = self.process, state.x[_A7]
        self.has_called = True
        process.sp = state.x[_SP]
        pc = (state["pc"] - _ECALL_SIZE) & WORD_MASK
        if number == _RT_SIGRETURN:
            process.vector.system_call(state, pc)
            process.signals.leave(state)
        else:
            result = self._result(number, state)
            process.vector.system_call(state, pc)
            if result == ERESTARTSYS and process.signals.restarts():
                state["pc"] = pc
            else:
                state.x[_A0] = (EINTR if result == ERESTARTSYS else result) & WORD_MASK
            state["time_asleep"] = process.clock.slept * process.ticks_per_second // SECOND
        self.interrupt(state)

    def interrupt(self, state: State) -> None:
        """Send what timers have to send, and have pending signals handled."""
        process = self.process
        process.timers.expire()
        if not process.signals.pending_bits:
            return
        try:
            process.signals.deliver(state)
        except Killed as end:
            process.note(f"the program has ended itself by SIG{SIGNAL_NAMES.get(end.signal, '?')}")
            raise

    def run_limit(self) -> tuple[int | None, float | None]:
        """How far the program may run before `interrupt`: cycles, or the host's time in seconds."""
        moment = self.process.timers.first()
        return (None, None) if moment is None else self.process.clock.run_limit(moment)

    def _result(self, number: int, state: State) -> int:
        call = CALLS.get(number)
        if call is None:
            self._name_once(number)
            if self._strace:
                self._strace(f"{NAMES.get(number, f'syscall {number}')}() = -ENOSYS")
            return ENOSYS
        arguments = call.arguments(state.x[_A0 : _A0 + 6].tolist())
        if self._strace:
            return self._traced(call, arguments, self._strace)
        try:
            return call.run(self.process, *arguments)
        except CallError as error:
            return error.code
        except ProcessExit as end:
            self.process.name_library(end.code)
            raise

    def _traced(
        self, call: SystemCall, arguments: list[int], strace: Callable[[str], object]
    ) -> int:
        shown = call.shown(arguments, self.process.memory)
        result = None
        try:
            result = call.run(self.process, *arguments)
        except CallError as error:
            result = error.code
        finally:
            strace(f"{shown} = {call.answer(result)}")
        return result

    def fault(self, cause: Cause, tval: int, state: State) -> bool:
        """Whether the program goes on after a trap: in a handler of the signal, or where it was.

        The latter if memory that was promised is there now.
        """
        memory, need = self.process.memory, LACKED_RIGHT.get(cause)
        if need is not None and memory.keep_promise(tval, _WIDEST_ACCESS, need):
            return True
        if need is not None and memory.is_promised(tval):
            self.process.note_once(
                f"the program has used up its memory of {memory.limit:#x} bytes, and what it"
                " mapped with MAP_NORESERVE has none left: give it more with --memory"
            )
        return self.process.signals.fault(fault_signal(cause, tval, state["pc"], memory), state)

    def _name_once(self, number: int) -> None:
        name = f" ({NAMES[number]})" if number in NAMES else ""
        self.process.note_once(f"unknown system call {number}{name}: ENOSYS")
