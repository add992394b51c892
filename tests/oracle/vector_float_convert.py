"""V 13.17 to 13.19, Zvfbfmin: conversions, of one width, widening and narrowing."""

from collections.abc import Callable

from tests.oracle import float_exact as exact
from tests.oracle.float_exact import ODD, RTZ, Binary, Outcome
from tests.oracle.scalar import Fields, Row
from tests.oracle.state import ILLEGAL_INSTRUCTION, OracleTrap
from tests.oracle.vector_float_shape import BF16, F32, FloatInsn, float_format, float_row

# Pattern and rounding mode of the instruction to pattern and flags.
Conversion = Callable[[int, int], Outcome]
ELEN = 64


def integer_width(eew: int) -> int:
    if eew > ELEN:
        raise OracleTrap(ILLEGAL_INSTRUCTION)
    return eew


def to_integer(source: int, target: int, is_signed: bool, rm: int | None) -> Conversion:
    """A static `rm` is that of the `rtz` forms."""
    fmt, width = float_format(source), integer_width(target)
    return lambda a, frm: exact.to_int(fmt, a, width, is_signed, frm if rm is None else rm)


def from_integer(source: int, target: int, is_signed: bool) -> Conversion:
    width, fmt = integer_width(source), float_format(target)
    return lambda a, frm: exact.from_int(fmt, a, width, is_signed, frm)


def between(source: Binary, target: Binary, rm: int | None = None) -> Conversion:
    return lambda a, frm: exact.convert(source, target, a, frm if rm is None else rm)


def conversion_row(
    source_scale: int, target_scale: int, make: Callable[[int, int], Conversion]
) -> Row:
    """`make` gets the widths of source and target, which are SEW times the scales."""

    def body(insn: FloatInsn, fields: Fields) -> None:
        source, target = source_scale * insn.sew, target_scale * insn.sew
        convert = make(source, target)
        insn.write_body(
            fields["vd"],
            target,
            lambda i: insn.accrue(convert(insn.read(fields["vs2"], i, source), insn.rm)),
        )

    return float_row(body)


def bf16_only(conversion: Conversion) -> Callable[[int, int], Conversion]:
    """Zvfbfmin: the narrow side is bf16, and SEW is 16."""

    def make(source: int, target: int) -> Conversion:
        if min(source, target) != BF16.width:
            raise OracleTrap(ILLEGAL_INSTRUCTION)
        return conversion

    return make


ROWS: dict[str, Row] = {
    "vfwcvt.f.f.v": conversion_row(1, 2, lambda s, t: between(float_format(s), float_format(t))),
    "vfncvt.f.f.w": conversion_row(2, 1, lambda s, t: between(float_format(s), float_format(t))),
    "vfncvt.rod.f.f.w": conversion_row(
        2, 1, lambda s, t: between(float_format(s), float_format(t), ODD)
    ),
    "vfwcvtbf16.f.f.v": conversion_row(1, 2, bf16_only(between(BF16, F32))),
    "vfncvtbf16.f.f.w": conversion_row(2, 1, bf16_only(between(F32, BF16))),
}
for _prefix, _suffix, _source, _target in (
    ("vfcvt", "v", 1, 1),
    ("vfwcvt", "v", 1, 2),
    ("vfncvt", "w", 2, 1),
):
    for _integer, _signed in (("x", True), ("xu", False)):
        for _way, _rm in ((_integer, None), (f"rtz.{_integer}", RTZ)):
            ROWS[f"{_prefix}.{_way}.f.{_suffix}"] = conversion_row(
                _source, _target, lambda s, t, i=_signed, rm=_rm: to_integer(s, t, i, rm)
            )
        ROWS[f"{_prefix}.f.{_integer}.{_suffix}"] = conversion_row(
            _source, _target, lambda s, t, i=_signed: from_integer(s, t, i)
        )
