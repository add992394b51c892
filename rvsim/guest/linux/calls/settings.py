"""The system call `prctl`: settings of the process, by number."""

from __future__ import annotations

import struct
from typing import Final

from rvsim.guest.linux.errno import EINVAL, EPERM
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.settings import TIMER_SLACK
from rvsim.guest.linux.signals import SIGNALS
from rvsim.guest.linux.system import VECTOR_OFF, VECTOR_ON
from rvsim.guest.linux.table import Addr, Int, Size, syscall

_NAME_SIZE: Final = 16


@syscall(167, "prctl")
def prctl(
    process: LinuxProcess, option: Int, argument: Addr, third: Size, fourth: Size, fifth: Size
) -> int:
    """Set something of the process, or tell it."""
    settings = process.settings
    match option:
        case 1 if argument <= SIGNALS:  # PR_SET_PDEATHSIG
            settings.death_signal = argument
        case 2:  # PR_GET_PDEATHSIG
            process.put(argument, struct.pack("<i", settings.death_signal))
        case 3:  # PR_GET_DUMPABLE
            return settings.dumpable
        case 4 if argument <= 1:  # PR_SET_DUMPABLE
            settings.dumpable = argument
        case 15:  # PR_SET_NAME
            process.thread_name = process.text(argument)[: _NAME_SIZE - 1]
        case 16:  # PR_GET_NAME
            process.put(argument, process.thread_name.ljust(_NAME_SIZE, b"\0"))
        case 29:  # PR_SET_TIMERSLACK
            settings.timer_slack = argument if 0 < argument < 1 << 63 else TIMER_SLACK
        case 30:  # PR_GET_TIMERSLACK
            return settings.timer_slack
        case 36:  # PR_SET_CHILD_SUBREAPER
            settings.is_subreaper = argument != 0
        case 37:  # PR_GET_CHILD_SUBREAPER
            process.put(argument, struct.pack("<i", settings.is_subreaper))
        case 38 if (argument, third, fourth, fifth) == (1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS
            settings.no_new_privileges = True
        case 39 if not (argument or third or fourth or fifth):  # PR_GET_NO_NEW_PRIVS
            return settings.no_new_privileges
        case 42:  # PR_GET_THP_DISABLE
            return 0
        case 69:  # PR_RISCV_V_SET_CONTROL
            return _set_vector_control(process, argument)
        case 70 if process.has_vector:  # PR_RISCV_V_GET_CONTROL
            return process.vector_control
        case _:
            return EINVAL
    return 0


def _set_vector_control(process: LinuxProcess, control: int) -> int:
    """The next program's default, and whether it is inherited, are noted; this one keeps V."""
    now, after = control & 3, control >> 2 & 3
    if not process.has_vector or control & ~0x1F or 3 in (now, after):
        return EINVAL
    if now == VECTOR_OFF:
        return EPERM  # as Linux answers a program that is using its vector registers
    process.vector_control = VECTOR_ON | after << 2 | control & 0x10
    return 0
