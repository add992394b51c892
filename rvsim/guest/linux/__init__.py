"""Linux user mode: how a process starts, and the system calls that it makes."""

from rvsim.guest.linux.cpu import CacheFacts, Cpu
from rvsim.guest.linux.fault_signals import signal_number
from rvsim.guest.linux.grants import Grant
from rvsim.guest.linux.kernel import LinuxKernel
from rvsim.guest.linux.process import LinuxProcess, Sink, hwcap
from rvsim.guest.linux.system import hwprobe
from rvsim.guest.linux.table import BlockedForEver, ProcessExit

__all__ = [
    "BlockedForEver",
    "CacheFacts",
    "Cpu",
    "Grant",
    "LinuxKernel",
    "LinuxProcess",
    "ProcessExit",
    "Sink",
    "hwcap",
    "hwprobe",
    "signal_number",
]
