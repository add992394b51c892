"""The back end "text": a program as a formula that people read."""

from rvsim.ir.text.backend import formula

__all__ = ["formula"]
