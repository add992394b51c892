"""rvsim's softfloat against Berkeley SoftFloat, and where that has no such operation or format
against exact rational arithmetic: every result and every flag, on both back ends.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rvsim import fp
from tests.isa.float_bench import FORMATS, Bench
from tests.oracle import float_exact as exact
from tests.oracle.float_operands import (
    corners,
    few_corners,
    halfway_rows,
    integers,
    random_rows,
    rows_of,
)
from tests.oracle.softfloat import operation

pytestmark = pytest.mark.compiled

MODES = (fp.RNE, fp.RTZ, fp.RDN, fp.RUP, fp.RMM)
NATIVE_LANES = 8
PYTHON_LANES = 2048
SCALARS = 120
IEEE = ("f16", "f32", "f64")
Rows = list[tuple[int, ...]]


@dataclass(frozen=True)
class Case:
    """One operation on one format: what rvsim has, what the oracle has, and operands.

    `body` takes operands and a mode; `oracle` operands and a mode.
    """

    id: str
    body: Callable[..., Any]
    sources: tuple[int, ...]
    target: int
    oracle: Callable[..., tuple[int, int]]
    rows: Callable[[], Rows]
    modes: Sequence[int] = MODES

    def __str__(self) -> str:
        return self.id


def without_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: function(*operands[:-1])


def arithmetic(name: str, *, extra: int) -> list[Case]:
    """add … fma of one format; `extra` random rows beside the corners."""
    fmt, ieee = FORMATS[name], name in IEEE
    cases = []
    for op, arity in (("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("sqrt", 1), ("fma", 3)):
        oracle = (
            operation(f"{name}_{op.replace('fma', 'mul_add')}", *[name] * arity)
            if ieee
            else functools.partial(getattr(exact, op), exact.FORMATS[name])
        )
        values = corners(name) if arity < 3 and ieee and op != "sub" else few_corners(name)

        def rows(arity: int = arity, values: list[int] = values) -> Rows:
            if arity == 3:
                few = rows_of(name, 3, values[:: 1 if ieee else 3], 2 * extra)
                return few + halfway_rows(name, extra)
            return rows_of(name, arity, values, extra)

        body = functools.partial(getattr(fp, op), fmt)
        cases.append(Case(f"{name}-{op}", body, (fmt.width,) * arity, fmt.width, oracle, rows))
    return cases


def exact_comparison(name: str, relation: Any, *, signaling: bool) -> Callable[..., Any]:
    binary = exact.FORMATS[name]
    return lambda a, b, rm: exact.compare(binary, a, b, relation, signaling)


def comparisons(name: str) -> list[Case]:
    fmt, binary = FORMATS[name], exact.FORMATS[name]
    table: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = []
    for op, relation in (("eq", operator.eq), ("lt", operator.lt), ("le", operator.le)):
        for quiet in (False, True):
            suffix = {"eq": ("", "_signaling"), "lt": ("", "_quiet"), "le": ("", "_quiet")}[op]
            if op == "eq" and quiet:
                continue
            body = (
                functools.partial(fp.eq, fmt)
                if op == "eq"
                else functools.partial(getattr(fp, op), fmt, quiet=quiet)
            )
            oracle = (
                operation(f"{name}_{op}{suffix[quiet]}", name, name)
                if name in IEEE
                else exact_comparison(name, relation, signaling=op != "eq" and not quiet)
            )
            table.append((f"{op}{'q' * quiet}", body, oracle))
    table.append(("ne", functools.partial(fp.ne, fmt), lambda a, b, rm: (
        (exact.compare(binary, a, b, operator.eq, False)[0] ^ 1),
        exact.compare(binary, a, b, operator.eq, False)[1])))  # fmt: skip
    for op, options in (("minimum", (False, False)), ("maximum", (True, False)),
                        ("minimum_nan", (False, True)), ("maximum_nan", (True, True))):  # fmt: skip
        table.append((op, functools.partial(getattr(fp, op), fmt),
                      lambda a, b, rm, o=options: exact.minimum(binary, a, b, *o)))  # fmt: skip
    return [
        Case(
            f"{name}-{op}",
            without_mode(body),
            (fmt.width, fmt.width),
            fmt.width,
            oracle,
            lambda: rows_of(name, 2, few_corners(name), 500) + [(a, a) for a in corners(name)],
            modes=(fp.RNE,),
        )
        for op, body, oracle in table
    ]


def one_operand(name: str) -> list[Case]:
    """classify, estimates, rounding to an integral value."""
    fmt, binary = FORMATS[name], exact.FORMATS[name]

    def rows() -> Rows:
        steps = [fmt.one + (i << fmt.fraction_bits - 7) for i in range(256)]
        return [(x,) for x in corners(name) + steps] + random_rows(name, 1, 500)

    width = (fmt.width,)
    cases = [
        Case(f"{name}-classify", lambda a, rm: fp.classify(fmt, a), width, fmt.width,
             lambda a, rm: exact.classify(binary, a), rows, modes=(fp.RNE,)),
        Case(f"{name}-rec7", functools.partial(fp.reciprocal, fmt), width, fmt.width,
             functools.partial(exact.reciprocal, binary), rows),
        Case(f"{name}-rsqrt7", lambda a, rm: fp.reciprocal_root(fmt, a), width, fmt.width,
             lambda a, rm: exact.reciprocal_root(binary, a), rows, modes=(fp.RNE,)),
    ]  # fmt: skip
    for nx in (True, False):
        oracle = (
            operation(f"{name}_round_to_int", name)
            if name in IEEE and nx
            else lambda a, rm, nx=nx: exact.round_to_integral(binary, a, rm, nx)
        )
        cases.append(Case(
            f"{name}-round{'nx' * nx}",
            functools.partial(fp.round_to_integral, fmt, exact=nx), width, fmt.width, oracle, rows,
        ))  # fmt: skip
    return cases


def between_formats() -> list[Case]:
    cases = []
    for source, target in ((s, t) for s in FORMATS for t in FORMATS if s != t):
        has = {source, target} <= {*IEEE} or {source, target} == {"bf16", "f32"}
        oracle = (
            operation(f"{source}_to_{target}", source)
            if has
            else functools.partial(exact.convert, exact.FORMATS[source], exact.FORMATS[target])
        )
        fraction = exact.FORMATS[source].fraction_bits - exact.FORMATS[target].fraction_bits

        def rows(source: str = source, target: str = target, fraction: int = fraction) -> Rows:
            found = [(x,) for x in corners(source)] + random_rows(source, 1, 1500)
            # What is near the limits of the target, and halfway between its numbers.
            limits = [exact.convert(exact.FORMATS[target], exact.FORMATS[source], x, 1)[0]
                      for x in corners(target)]  # fmt: skip
            half = 1 << max(fraction - 1, 0)
            return found + [(max(x + d, 0),) for x in limits for d in (-half, -1, 0, 1, half)]

        cases.append(
            Case(
                f"{source}-to-{target}",
                functools.partial(fp.convert, FORMATS[source], FORMATS[target]),
                (FORMATS[source].width,),
                FORMATS[target].width,
                oracle,
                rows,
            )
        )
    return cases


def to_odd() -> list[Case]:
    """V 13.19: only the mode that no oracle library has."""
    pairs = (("f64", "f32"), ("f32", "f16"), ("f32", "bf16"), ("f64", "f16"))
    return [
        Case(
            f"{source}-to-{target}-odd",
            lambda a, rm, s=source, t=target: fp.convert(FORMATS[s], FORMATS[t], a, fp.ODD),
            (FORMATS[source].width,),
            FORMATS[target].width,
            lambda a, rm, s=source, t=target: exact.convert(
                exact.FORMATS[s], exact.FORMATS[t], a, exact.ODD
            ),
            lambda s=source: [(x,) for x in corners(s)] + random_rows(s, 1, 800),
            modes=(fp.RNE,),
        )
        for source, target in pairs
    ]


def with_integers(name: str) -> list[Case]:
    fmt, binary = FORMATS[name], exact.FORMATS[name]
    cases = []
    for width in (8, 16, 32, 64):
        for signed in (True, False):
            integer = f"{'' if signed else 'u'}i{width}"
            library = name in IEEE and width >= 32
            to_oracle = (
                operation(f"{name}_to_{integer}", name)
                if library
                else lambda a, rm, w=width, s=signed: exact.to_int(binary, a, w, s, rm)
            )
            from_oracle = (
                operation(f"{integer}_to_{name}", integer)
                if library
                else lambda a, rm, w=width, s=signed: exact.from_int(binary, a, w, s, rm)
            )
            cases.append(
                Case(
                    f"{name}-to-{integer}",
                    lambda a, rm, w=width, s=signed: fp.to_int(fmt, a, w, rm, signed=s),
                    (fmt.width,),
                    width,
                    to_oracle,
                    lambda: [(x,) for x in corners(name)] + random_rows(name, 1, 400),
                )
            )
            cases.append(
                Case(
                    f"{integer}-to-{name}",
                    lambda a, rm, s=signed: fp.from_int(fmt, a, rm, signed=s),
                    (width,),
                    fmt.width,
                    from_oracle,
                    lambda w=width: integers(w, 300),
                )
            )
    return cases


MODULAR = Case(
    "f64-mod-i32",
    lambda a, rm: fp.to_int_modular(fp.F64, a),
    (64,),
    32,
    lambda a, rm: exact.to_int_modular(exact.FORMATS["f64"], a),
    lambda: [(x,) for x in corners("f64")] + random_rows("f64", 1, 3000),
    modes=(fp.RNE,),
)
CASES = [
    *(case for name in FORMATS for case in arithmetic(name, extra=2500 if name in IEEE else 250)),
    *(case for name in FORMATS for case in comparisons(name)),
    *(case for name in FORMATS for case in one_operand(name)),
    *between_formats(),
    *to_odd(),
    *(case for name in FORMATS for case in with_integers(name)),
    MODULAR,
]


def check(case: Case, bench: Bench, engine: str, rows: Rows, wanted: Any, mode: int) -> None:
    results, flags = bench.run(engine, list(zip(*rows, strict=True)), mode)
    for row, got, expected in zip(rows, zip(results, flags, strict=True), wanted, strict=True):
        assert got == expected, (
            f"{case} ({', '.join(map(hex, row))}) in mode {mode} on {engine}: "
            f"{got[0]:#x}, flags {got[1]:05b} instead of {expected[0]:#x}, flags {expected[1]:05b}"
        )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_lanes(case):
    """The mode as a value on both back ends, then as a constant."""
    rows = case.rows()
    python = Bench(case.body, case.sources, case.target, n=PYTHON_LANES)
    native = Bench(case.body, case.sources, case.target, n=NATIVE_LANES)
    for mode in case.modes:
        wanted = [case.oracle(*row, mode) for row in rows]
        check(case, python, "numpy", rows, wanted, mode)
        check(case, native, "llvm", rows, wanted, mode)
        if len(case.modes) > 1:
            fixed = Bench(case.body, case.sources, case.target, n=PYTHON_LANES, rm=mode)
            check(case, fixed, "numpy", rows, wanted, mode)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_scalars(case):
    rows = case.rows()
    rows = rows[:: max(1, len(rows) // SCALARS)]
    scalar = Bench(case.body, case.sources, case.target, n=0)
    for mode in case.modes:
        wanted = [case.oracle(*row, mode) for row in rows]
        check(case, scalar, "numpy", rows, wanted, mode)
        check(case, scalar, "llvm", rows, wanted, mode)


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for n in IEEE for c in arithmetic(n, extra=100_000)], ids=str)
def test_many_random_operands(case):
    test_lanes(case)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [c for c in CASES if c.sources == (16,) and c.id.startswith("f16-")], ids=str
)
def test_every_f16(case):
    whole = replace(case, rows=lambda: [(x,) for x in range(1 << 16)])
    test_lanes(whole)
