"""Scalar floating-point rows on random operands against Berkeley SoftFloat, flags included."""

import random
import zlib

import pytest

from tests.oracle.bits import signed
from tests.oracle.element import execute
from tests.oracle.float_registers import boxed
from tests.oracle.samples import M64, new_state
from tests.oracle.softfloat import operation

CASES = 150
LETTER = {"f16": "h", "bf16": "bf16", "f32": "s", "f64": "d"}
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i32": 32, "ui32": 32, "i64": 64, "ui64": 64}
INTEGER = {"i32": "w", "ui32": "wu", "i64": "l", "ui64": "lu"}
FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
IEEE = ("f16", "f32", "f64")

# Row, SoftFloat's function, types of the operands, type of the result.
TABLE: list[tuple[str, str, tuple[str, ...], str]] = []
for _t in IEEE:
    for _name in ("add", "sub", "mul", "div"):
        TABLE.append((f"f{_name}.{LETTER[_t]}", f"{_t}_{_name}", (_t, _t), _t))
    TABLE.append((f"fsqrt.{LETTER[_t]}", f"{_t}_sqrt", (_t,), _t))
    TABLE.append((f"fmadd.{LETTER[_t]}", f"{_t}_mul_add", (_t, _t, _t), _t))
    for _name, _function in (
        ("feq", "eq"),
        ("flt", "lt"),
        ("fle", "le"),
        ("fltq", "lt_quiet"),
        ("fleq", "le_quiet"),
    ):
        TABLE.append((f"{_name}.{LETTER[_t]}", f"{_t}_{_function}", (_t, _t), "i32"))
    for _i, _letter in INTEGER.items():
        TABLE.append((f"fcvt.{_letter}.{LETTER[_t]}", f"{_t}_to_{_i}", (_t,), _i))
        TABLE.append((f"fcvt.{LETTER[_t]}.{_letter}", f"{_i}_to_{_t}", (_i,), _t))
    for _u in IEEE:
        if _t != _u:
            TABLE.append((f"fcvt.{LETTER[_u]}.{LETTER[_t]}", f"{_t}_to_{_u}", (_t,), _u))
TABLE.append(("fcvt.bf16.s", "f32_to_bf16", ("f32",), "bf16"))
TABLE.append(("fcvt.s.bf16", "bf16_to_f32", ("bf16",), "f32"))


def pattern(rng: random.Random, type_: str) -> int:
    """Random bits, often near a power of two, a zero or an infinity, or with few fraction bits."""
    width = WIDTH[type_]
    bits = rng.getrandbits(width)
    if type_ not in FRACTION:
        return bits >> rng.randrange(width)
    fraction_bits = FRACTION[type_]
    kind = rng.randrange(4)
    if kind == 0:
        return bits
    sign = bits >> width - 1 << width - 1
    exponents = (1 << width - 1 - fraction_bits) - 1
    near_one = exponents // 2 + rng.randrange(-3, 4)
    exponent = rng.choice([0, 1, exponents - 1, exponents, near_one, near_one])
    fraction = bits & (1 << fraction_bits) - 1
    if kind == 1:
        fraction = rng.choice([0, 1, (1 << fraction_bits) - 1, 1 << fraction_bits - 1])
    return sign | exponent << fraction_bits | fraction


def by_row(name: str, types: tuple[str, ...], result: str, operands: list[int], rm: int):
    state = new_state()
    for reg, (type_, bits) in enumerate(zip(types, operands, strict=True), 1):
        state.f[reg] = boxed(bits, WIDTH[type_]) if type_ in FRACTION else bits
        state.x[reg] = bits if type_ not in FRACTION else 0
    fields = {"fd": 8, "rd": 8, "fs1": 1, "rs1": 1, "fs2": 2, "fs3": 3, "rm": rm}
    execute(name, state, fields)
    return (state.f if result in FRACTION else state.x)[8], state.fflags


@pytest.mark.parametrize(("name", "function", "types", "result"), TABLE, ids=[t[0] for t in TABLE])
def test_rows_agree_with_softfloat(name, function, types, result):
    rng = random.Random(zlib.crc32(name.encode()))
    reference = operation(function, *types)
    for _ in range(CASES):
        operands = [pattern(rng, t) for t in types]
        rm = rng.randrange(5)
        bits, flags = reference(*operands, rm)
        width = WIDTH[result]
        expected = boxed(bits, width) if result in FRACTION else signed(bits, width) & M64
        assert by_row(name, types, result, operands, rm) == (expected, flags), (operands, rm)
