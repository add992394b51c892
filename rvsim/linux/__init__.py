"""Linux user mode: how a process starts, and the system calls that it makes."""

from rvsim.linux.process import LinuxProcess, Sink, hwcap
from rvsim.linux.table import ProcessExit

__all__ = ["LinuxProcess", "ProcessExit", "Sink", "hwcap"]
