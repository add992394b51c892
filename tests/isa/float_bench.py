"""Floating-point operations on both back ends: columns of operands in, columns of results out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rvsim import fp, ir
from rvsim.engine.binding import namespace
from rvsim.hart.memory import Memory
from rvsim.hart.state import State
from rvsim.ir import Value
from rvsim.ir.llvm.backend import lower
from rvsim.ir.llvm.engine import compile_module
from rvsim.ir.numpy.backend import compile_python
from rvsim.ir.program import Program
from rvsim.ir.trace import Trace

FORMATS = {"f16": fp.F16, "bf16": fp.BF16, "f32": fp.F32, "f64": fp.F64}
FIELDS = {"vs1": 0, "vs2": 4, "vs3": 8, "vd": 16, "vm": 24, "rs1": 10, "rs2": 11, "rs3": 12,
          "rd": 13, "rm": 14, "ra": 15}  # fmt: skip
SOURCES = ("vs1", "vs2", "vs3")
X_SOURCES = ("rs1", "rs2", "rs3")
MEMORY = Memory(1 << 16)

Body = Callable[..., Any]
"""``body(*operands, rm)``: a value, or a value and its flags."""


def deliver(outcome: Any, width: int) -> tuple[Value, Value]:
    """(result of `width` bits, flags as in fflags, of 8 bits) of what a body returns."""
    value, flags = outcome if isinstance(outcome, tuple) else (outcome, None)
    packed = ir.const(0, value.type.with_width(8))
    if flags is not None:
        for i, flag in enumerate((flags.nx, flags.uf, flags.of, flags.dz, flags.nv)):
            packed = packed | (ir.zext(flag, 8) << i)
    return ir.zext(value, width), packed


class Bench:
    """One operation, `n` lanes at a time; ``n == 0`` is the scalar form.

    `rm` fixes the rounding mode at tracing; otherwise each call passes it.  With `host`, NumPy's
    arithmetic is used where it may be.
    """

    def __init__(
        self,
        body: Body,
        sources: Sequence[int],
        target: int,
        *,
        n: int,
        rm: int | None = None,
        host: bool = False,
    ) -> None:
        self.host = host
        self.sources = sources
        self.target = max(target, 8)
        self.n = n
        self.state = State(max(256, 16 * n))
        with Trace() as trace:
            mode = ir.trunc(ir.read_x("rm"), 3) if rm is None else rm
            if n:
                operands = [ir.read_v(f, n, w) for f, w in zip(SOURCES, sources, strict=False)]
                value, flags = deliver(body(*operands, mode), self.target)
                ir.write_v("vd", value)
                ir.write_v("vm", flags)
            else:
                words = [ir.read_x(f) for f, _ in zip(X_SOURCES, sources, strict=False)]
                operands = [ir.trunc(x, w) for x, w in zip(words, sources, strict=True)]
                value, flags = deliver(body(*operands, mode), self.target)
                ir.write_x("rd", ir.zext(value, 64))
                ir.write_x("ra", ir.zext(flags, 64))
        self.program: Program = trace.finish()

    @cached_property
    def python(self) -> Callable[[], None]:
        scope = namespace(self.state, MEMORY)
        exec(compile_python(self.program, host=self.host), scope)
        fields = {p: FIELDS[p] for p in self.program.params()}
        return lambda: scope["insn"](**fields)

    @cached_property
    def native(self) -> Callable[[], Any]:
        fields = {p: FIELDS[p] for p in self.program.params()}
        module, _ = lower(self.program, "insn", fields=fields, vlen=self.state.vlen)
        function = compile_module(module).function("insn")
        return lambda: function(self.state, MEMORY)

    def run(
        self, engine: str, columns: Sequence[Sequence[int]], rm: int = 0
    ) -> tuple[list[int], list[int]]:
        """(results, flags) of one case a row of the columns."""
        call = self.python if engine == "numpy" else self.native
        self.state.x[FIELDS["rm"]] = rm
        return self._lanes(call, columns) if self.n else self._scalars(call, columns)

    def _scalars(self, call, columns):
        x = self.state.x
        results, flags = [], []
        for row in zip(*columns, strict=True):
            for field, operand in zip(X_SOURCES, row, strict=False):
                x[FIELDS[field]] = operand
            call()
            results.append(x[FIELDS["rd"]])
            flags.append(x[FIELDS["ra"]])
        return results, flags

    def _lanes(self, call, columns):
        count = len(columns[0])
        padded = -(-count // self.n) * self.n
        operands = [
            np.resize(np.array(column, f"u{width // 8}"), padded)
            for column, width in zip(columns, self.sources, strict=True)
        ]
        result = np.empty(padded, f"u{self.target // 8}")
        flags = np.empty(padded, "u1")
        windows = [self._window(f, c.dtype) for f, c in zip(SOURCES, operands, strict=False)]
        vd, vm = self._window("vd", result.dtype), self._window("vm", flags.dtype)
        for start in range(0, padded, self.n):
            part = slice(start, start + self.n)
            for window, operand in zip(windows, operands, strict=True):
                window[:] = operand[part]
            call()
            result[part], flags[part] = vd, vm
        return result[:count].tolist(), flags[:count].tolist()

    def _window(self, field: str, dtype: Any) -> Any:
        start = FIELDS[field] * self.state.vlenb
        size = self.n * np.dtype(dtype).itemsize
        return self.state.vfile[start : start + size].view(dtype)
