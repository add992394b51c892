"""Guards against UF before rounding, for all operands of a small format, against exact numbers."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from rvsim.engine.jit import underflow
from rvsim.engine.jit.compile import link, object_code
from rvsim.fp import Format
from rvsim.ir.llvm.build import I8, I64, PTR, at, loop, new_module

WORD = ir.IntType(16)
"""What holds a pattern in memory."""

SMALL = Format("small", 3, 2)
WIDER = Format("wider", 4, 4)
LEAST_NORMAL = math.ldexp(1, 1 - SMALL.bias)

Exact = Callable[..., Any]


def number(pattern: int, fmt: Format) -> float:
    """What a pattern stands for; sums and products of such few bits are exact."""
    field = pattern >> fmt.fraction_bits & (1 << fmt.exponent_bits) - 1
    if field == (1 << fmt.exponent_bits) - 1:
        return math.nan
    fraction = pattern & (1 << fmt.fraction_bits) - 1
    significand = fraction + (1 << fmt.fraction_bits if field else 0)
    size = math.ldexp(significand, max(field, 1) - fmt.bias - fmt.fraction_bits)
    return -size if pattern & fmt.sign else size


def may_differ(exact: Any) -> Any:
    """Whether a number is tiny, and some rounding mode makes it normal if exponents are unbounded.

    The greatest number of the precision below the least normal one is tiny in any case.
    """
    below = LEAST_NORMAL * (1 - math.ldexp(1, -SMALL.precision))
    return (below < abs(exact)) & (abs(exact) < LEAST_NORMAL)


def accepted(guard: underflow.Guard, fmt: Format, rows: np.ndarray) -> np.ndarray:
    """What the guard says of each row, as compiled code."""
    module = new_module("guards")
    signature = ir.FunctionType(ir.VoidType(), [PTR, PTR])
    native = ir.Function(module, signature, "judge")
    b = ir.IRBuilder(native.append_basic_block())
    table, out = native.args
    count, operands = rows.shape

    def one(index: Any) -> Sequence[Any]:
        first = b.mul(index, I64(operands))
        words = [
            b.load(at(b, table, b.add(first, I64(i)), WORD), typ=WORD) for i in range(operands)
        ]
        patterns = [b.trunc(word, ir.IntType(fmt.width)) for word in words]
        b.store(b.zext(guard(b, patterns), I8), at(b, out, index))
        return ()

    loop(b, count, (), one)
    b.ret_void()
    library = link(object_code(module), "judge")
    found = np.zeros(count, "u1")
    judge = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library.address)
    judge(rows.ctypes.data, found.ctypes.data)
    return found != 0


def all_rows(fmt: Format, operands: int) -> np.ndarray:
    return np.array(list(product(range(1 << fmt.width), repeat=operands)), "u2")


CASES: dict[str, tuple[underflow.Guard, Format, int, Exact]] = {
    "mul": (underflow.product_guard(SMALL), SMALL, 2, lambda a, b: a * b),
    "fma": (underflow.fma_guard(SMALL), SMALL, 3, lambda a, b, c: a * b + c),
    "narrow": (underflow.narrowing_guard(WIDER, SMALL), WIDER, 1, lambda a: a),
}


@pytest.mark.parametrize("name", CASES)
def test_no_result_that_a_guard_accepts_is_tiny_only_before_rounding(name: str) -> None:
    guard, fmt, operands, exact = CASES[name]
    rows = all_rows(fmt, operands)
    numbers = np.array([number(pattern, fmt) for pattern in range(1 << fmt.width)])
    differ = may_differ(exact(*numbers[rows].T))
    assert differ.any()
    assert not (differ & accepted(guard, fmt, rows)).any()


def test_quotients_need_no_guard() -> None:
    numbers = [Fraction(number(pattern, SMALL)) for pattern in range(SMALL.infinity)]
    quotients = [a / b for a in numbers for b in numbers if b]
    assert not any(may_differ(quotient) for quotient in quotients)
    assert any(quotient < LEAST_NORMAL for quotient in quotients)


@pytest.mark.parametrize("name", CASES)
def test_guards_accept_what_is_usual(name: str) -> None:
    """Numbers from 1 to 2, and zero times them."""
    guard, fmt, operands, _ = CASES[name]
    usual = [fmt.one, fmt.one + 1, fmt.sign | fmt.one]
    rows = np.array(
        [*product(usual, repeat=operands), *product([0, fmt.sign], *[usual] * (operands - 1))], "u2"
    )
    assert accepted(guard, fmt, rows).all()
