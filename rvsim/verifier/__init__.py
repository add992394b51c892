"""Calls of a program's functions from Python, as ctypes calls those of a library."""
