"""Linux user mode: how a process starts, and the system calls that it makes."""

from rvsim.linux.cpu import CacheFacts, Cpu
from rvsim.linux.grants import Grant
from rvsim.linux.process import LinuxProcess, Sink, hwcap
from rvsim.linux.system import hwprobe
from rvsim.linux.table import BlockedForEver, ProcessExit

__all__ = [
    "BlockedForEver",
    "CacheFacts",
    "Cpu",
    "Grant",
    "LinuxProcess",
    "ProcessExit",
    "Sink",
    "hwcap",
    "hwprobe",
]
