"""rvsim: an instruction-level simulator and verifier for RISC-V vector and SpacemiT IME kernels."""

__version__ = "0.1.0"
