"""The calling convention: examples worked by hand from the psABI."""

from __future__ import annotations

import pytest

from rvsim.guest.c_types import (
    DOUBLE,
    INT,
    LONG,
    VOID,
    Array,
    Field,
    Float,
    Function,
    Integer,
    Parameter,
    Pointer,
    Structure,
    Type,
    Vector,
)
from rvsim.verifier.abi import Plan, plan_of
from rvsim.verifier.locations import Placement

TOP = 0x10000
FLOAT = Float("float", 4, "f32")
HALF = Float("_Float16", 2, "f16")
INT128 = Integer("__int128", 16, True)
UNSIGNED = Integer("unsigned int", 4, False)
CHAR = Integer("unsigned char", 1, False)


def function(*types: Type, result: Type = VOID) -> Function:
    return Function(result, tuple(Parameter(f"p{n}", each) for n, each in enumerate(types)))


def struct(*types: Type, alignment: int = 8) -> Structure:
    fields, offset = [], 0
    for each in types:
        fields.append(Field("f", each, offset))
        offset += each.size
    return Structure("s", offset, alignment, tuple(fields))


def numbers(*values: tuple[int, int]) -> list[bytes]:
    return [value.to_bytes(size, "little", signed=value < 0) for value, size in values]


def placed(plan: Plan, *values: tuple[int, int]) -> Placement:
    return plan.place(numbers(*values), TOP)


def test_narrow_numbers_are_widened_by_their_sign_up_to_32_bits_then_by_bit_31():
    types = (Integer("signed char", 1, True), CHAR, INT, UNSIGNED, Integer("_Bool", 1, False))
    found = placed(plan_of(function(*types)), (-1, 1), (255, 1), (-2, 4), (1 << 31, 4), (1, 1))
    assert found.x == {
        **{2: TOP, 10: (1 << 64) - 1, 11: 255, 12: (1 << 64) - 2},
        **{13: 0xFFFF_FFFF_8000_0000, 14: 1},
    }


def test_floats_have_registers_of_their_own_and_are_boxed():
    found = placed(plan_of(function(FLOAT, LONG, HALF, DOUBLE)), (1, 4), (2, 8), (3, 2), (4, 8))
    assert found.x == {2: TOP, 10: 2}
    assert found.f == {10: 0xFFFF_FFFF_0000_0001, 11: 0xFFFF_FFFF_FFFF_0003, 12: 4}


def test_the_ninth_float_is_in_an_integer_register_and_then_on_the_stack():
    plan = plan_of(function(*[DOUBLE] * 9, *[LONG] * 8))
    found = placed(plan, *((n, 8) for n in range(17)))
    assert found.f == {10 + n: n for n in range(8)}
    assert found.x == {2: TOP - 16, **{10 + n: 8 + n for n in range(8)}}
    assert found.memory == [(TOP - 16, (16).to_bytes(8, "little"))]


def test_a_pair_may_be_divided_between_the_last_register_and_the_stack():
    found = placed(plan_of(function(*[LONG] * 7, INT128)), *[(0, 8)] * 7, (5 << 64 | 4, 16))
    assert found.x[17] == 4
    assert found.memory == [(found.x[2], (5).to_bytes(8, "little"))]


def test_only_variadic_pairs_are_aligned():
    named = placed(plan_of(function(INT, INT128)), (1, 4), (3 << 64 | 2, 16))
    assert named.x == {2: TOP, 10: 1, 11: 2, 12: 3}
    variadic = placed(plan_of(function(INT), (INT128,)), (1, 4), (3 << 64 | 2, 16))
    assert variadic.x == {2: TOP, 10: 1, 12: 2, 13: 3}


def test_variadic_floats_are_in_integer_registers():
    found = placed(plan_of(function(DOUBLE), (DOUBLE,)), (1, 8), (2, 8))
    assert (found.x, found.f) == ({2: TOP, 10: 2}, {10: 1})


@pytest.mark.parametrize(
    ("type", "x", "f"),
    [
        (struct(FLOAT), [], [1]),
        (struct(FLOAT, FLOAT), [], [1, 2]),
        (struct(struct(Array(FLOAT, 2))), [], [1, 2]),
        (struct(INT, FLOAT), [1], [2]),
        (struct(FLOAT, INT), [2], [1]),
        (struct(INT, INT), [2 << 32 | 1], []),
        (struct(FLOAT, FLOAT, FLOAT), [2 << 32 | 1, 3], []),
        (struct(FLOAT, Array(INT, 0), struct()), [], [1]),
    ],
)
def test_structures_of_few_floats_are_taken_apart(type: Structure, x: list[int], f: list[int]):
    value = b"".join(n.to_bytes(4, "little") for n in range(1, type.size // 4 + 1))
    found = plan_of(function(type)).place([value], TOP)
    assert list(found.x.values())[1:] == x
    assert [word & 0xFFFF_FFFF for word in found.f.values()] == f


def test_padding_does_not_keep_a_structure_from_being_taken_apart():
    fields = (Field("a", FLOAT, 0), Field("b", INT, 16))
    value = (1).to_bytes(16, "little") + (2).to_bytes(16, "little")
    found = plan_of(function(Structure("s", 32, 16, fields))).place([value], TOP)
    assert (found.x, found.f) == ({2: TOP, 10: 2}, {10: 0xFFFF_FFFF_0000_0001})


def test_unions_and_pointers_with_floats_are_not_taken_apart():
    union = Structure("u", 4, 4, (Field("f", FLOAT, 0),), is_union=True)
    assert placed(plan_of(function(union)), (7, 4)).x[10] == 7
    mixed = struct(Pointer(VOID), FLOAT)
    assert placed(plan_of(function(mixed)), (7 << 64 | 6, 12)).x == {2: TOP, 10: 6, 11: 7}


def test_large_structures_are_copied_and_their_address_is_passed():
    large = struct(LONG, LONG, LONG)
    value = bytes(range(24))
    found = plan_of(function(INT, large)).place([bytes(4), value], TOP)
    assert found.memory == [(TOP - 24, value)]
    assert found.x == {2: TOP - 32, 10: 0, 11: TOP - 24}


def test_a_large_result_has_a_hidden_pointer_before_the_first_argument():
    large = struct(LONG, LONG, LONG)
    plan = plan_of(function(INT, result=large))
    found = placed(plan, (3, 4))
    assert found.x == {2: TOP - 32, 10: TOP - 24, 11: 3}
    assert found.result_address == TOP - 24
    value = bytes(range(24))
    assert plan.returned(Placement({}), lambda a, n: value, found.result_address) == value
    assert plan.give(value, found).memory == [(TOP - 24, value)]
    with pytest.raises(ValueError, match="say at which address"):
        plan.returned(Placement({}), lambda a, n: value)


def test_results_are_where_the_first_argument_would_be():
    registers = Placement({10: 5, 11: 6}, {10: 1, 11: 2})
    for type, value in [(INT, 5), (INT128, 6 << 64 | 5), (struct(FLOAT, FLOAT), 2 << 32 | 1)]:
        plan = plan_of(function(result=type))
        assert int.from_bytes(plan.returned(registers, lambda a, n: b""), "little") == value
    assert plan_of(function()).returned(registers, lambda a, n: b"") == b""


def test_empty_structures_are_nowhere():
    assert placed(plan_of(function(struct(), INT)), (0, 0), (1, 4)).x == {2: TOP, 10: 1}


M1, M2 = Vector("vint32m1_t", 32, 0), Vector("vint32m2_t", 32, 1)
MASK = Vector("vbool8_t", 1, -3)
PAIR = Vector("vint32m1x2_t", 32, 0, 2)


@pytest.mark.parametrize(
    ("types", "registers"),
    [
        ([M1, M2, PAIR], [[8], [10, 11], [12, 13]]),  # both are examples of the psABI
        ([M1, M2, M1], [[8], [10, 11], [9]]),
        ([MASK, MASK, M1], [[0], [8], [9]]),
        ([M1, MASK], [[8], [0]]),
        ([Vector("vint8mf2x3_t", 8, -1, 3)], [[8, 9, 10]]),
    ],
)
def test_vectors_have_the_first_free_group(types: list[Type], registers: list[list[int]]):
    plan = plan_of(function(*types), vlen=128)
    assert [[piece.number for piece in each.pieces] for each in plan.arguments] == registers


def test_a_vector_without_registers_goes_by_reference():
    m8 = Vector("vint8m8_t", 8, 3)
    plan = plan_of(function(m8, m8, M1, LONG), vlen=128)
    found = plan.place([bytes(128), bytes(128), b"x" * 16, bytes(8)], TOP)
    assert sorted(found.v) == list(range(8, 24))
    assert found.memory == [(TOP - 16, b"x" * 16)]
    assert found.x == {2: TOP - 16, 10: TOP - 16, 11: 0}


def test_fields_of_tuples_have_whole_registers_however_short_they_are():
    mf2 = Vector("vint8mf2x2_t", 8, -1, 2)
    plan = plan_of(function(mf2, Vector("vint8m8_t", 8, 3), mf2), vlen=128)
    short, whole = b"aabb", b"c" * 8 + b"d" * 8
    found = plan.place([short, bytes(128), whole], TOP)
    assert found.v[8][:2] + found.v[9][:2] == short
    assert found.v[10][:8] + found.v[11][:8] == whole
    by_reference = plan_of(function(*[Vector("vint8m8_t", 8, 3)] * 2, mf2), vlen=128)
    found = by_reference.place([b"", b"", whole], TOP)
    assert found.memory == [(TOP - 32, b"c" * 8 + bytes(8) + b"d" * 8 + bytes(8))]


def test_vector_results_are_in_v8_and_masks_in_v0():
    registers = Placement({}, v={0: b"m" * 32, 8: b"a" * 32, 9: b"b" * 32})
    for type, value in [(M2, b"a" * 32 + b"b" * 32), (MASK, b"m" * 4)]:
        plan = plan_of(function(result=type), vlen=256)
        assert plan.returned(registers, lambda a, n: b"") == value


def test_values_are_as_many_and_as_long_as_the_types():
    plan = plan_of(function(INT, M1), vlen=128)
    for sizes in ([4], [8, 16], [4, 17], [4, 16, 1]):
        with pytest.raises(ValueError, match=r"values have .* bytes, the types \[4, 16\]"):
            plan.place([bytes(size) for size in sizes], TOP)
    assert plan.place([bytes(4), bytes(3)], TOP).v == {8: bytes(3)}
    with pytest.raises(ValueError, match="not a multiple of 16"):
        plan.place([bytes(4), bytes(16)], TOP + 8)


def test_a_hostile_structure_is_flattened_quickly():
    part: Type = Structure("empty", 8, 1, ())
    for _ in range(60):
        part = Structure("twice", 8, 1, (Field("a", part, 0), Field("b", Array(part, 1 << 40), 0)))
    assert plan_of(function(part)).arguments[0].pieces[0].kind == "x"
