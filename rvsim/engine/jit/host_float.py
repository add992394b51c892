"""Named floating-point operations as instructions of the host, results and flags exact.

A region runs in the guest's rounding mode (`rvsim.engine.jit.float_env`), so an operation is one
constrained intrinsic: NX, UF, OF, DZ and NV gather in the host's sticky flags.  What the host does
otherwise is mended here: NaNs are made canonical, NV of infinity times zero plus NaN is raised, and
conversions to integers saturate.  `HostFloat.rule` is the table; what it refuses is computed by the
softfloat definition, and so are operands that `HostFloat.guard` refuses.  The SoftFloat suite
proves each entry (tests/isa/test_jit_float.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from llvmlite import ir

from rvsim.engine.jit.float_env import HOST_MODES, FloatEnv
from rvsim.engine.jit.underflow import Guard, fma_guard, narrowing_guard, product_guard
from rvsim.fp import F16, F32, F64, Format
from rvsim.host.processor import Host
from rvsim.ir.float_operation import FloatOperation, FormatName, RoundingMode
from rvsim.ir.llvm import build
from rvsim.ir.llvm.build import I1, I32

_FORMATS: Final[dict[FormatName, Format]] = {f.name: f for f in (F16, F32, F64)}
_TYPES: Final = {"f16": ir.HalfType(), "f32": ir.FloatType(), "f64": ir.DoubleType()}
_SUFFIX: Final = {"f16": "f16", "f32": "f32", "f64": "f64"}
_ROUNDINGS: Final = {
    None: "nearbyint",
    RoundingMode.RNE: "roundeven",
    RoundingMode.RTZ: "trunc",
    RoundingMode.RDN: "floor",
    RoundingMode.RUP: "ceil",
}
"""Intrinsics that round to an integral number without raising NX, by the mode that is named."""

Lanes = Any
"""An LLVM integer or vector of integers: patterns, numbers or masks."""

ResultAndFlags = tuple[Lanes, dict[str, Lanes]]
"""A result and the flags that are given explicitly; the others are the host's."""

HostRule = Callable[[Any, Sequence[Lanes]], ResultAndFlags]
"""``rule(lowerer, operands)`` for one piece of the lanes."""


class HostFloat:
    """The operations that a host has: by its environment and its features.

    They are computed on vectors of at most `piece_bits`.
    """

    def __init__(self, env: FloatEnv, host: Host) -> None:
        self.env = env
        x86 = host.is_x86
        # LLVM splits no constrained vector well, and some not at all.
        self.piece_bits = 512 if host.has("avx512f") else 256 if host.has("avx2") else 128
        self.has_fma = not x86 or host.has("fma")
        self.has_half = not x86 or host.has("f16c")
        self.has_unsigned = not x86 or host.has("avx512dq")
        # LLVM converts vectors from u64 to f32 in halves, and rounds twice, without an instruction.
        self.halves_unsigned = not x86
        self.has_rounding = not x86 or host.has("sse4.1")

    def rule(self, op: FloatOperation, operand_width: int) -> HostRule | None:
        """The lowering of an operation whose first operand has so many bits, if any."""
        if any(f not in _FORMATS for f in op.formats):
            return None
        if "f16" in op.formats and not self.has_half:
            return None
        match op.verb, op.formats:
            case ("add" | "mul" | "div" | "sqrt") as verb, ("f16",):
                return _through_f32(verb) if op.mode is None else None
            case ("add" | "mul" | "div" | "sqrt") as verb, (fmt,):
                return _arithmetic(verb, fmt) if op.mode is None else None
            case "fma", ("f32" | "f64",) as formats:
                return _fma(formats[0]) if op.mode is None and self.has_fma else None
            case "convert", (source, target):
                return self._convert(op, source, target)
            case "to_int", (fmt,):
                usable = self.has_rounding and op.mode in _ROUNDINGS
                return _to_int(fmt, op) if usable else None
            case "from_int", (fmt,):
                return self._from_int(op, fmt, operand_width)
        return None

    def guard(self, op: FloatOperation) -> Guard | None:
        """The lanes in which an operation raises UF as RISC-V does; None where it always does."""
        if self.env.tiny_after_rounding:
            return None
        first, *others = (_FORMATS[f] for f in op.formats)
        match op.verb:
            case "mul":
                return product_guard(first)
            case "fma":
                return fma_guard(first)
            case "convert" if others[0].width < first.width:
                return narrowing_guard(first, others[0])
        return None

    def _convert(
        self, op: FloatOperation, source: FormatName, target: FormatName
    ) -> HostRule | None:
        if _FORMATS[source].width < _FORMATS[target].width:
            return _widen(source, target)
        usable = op.mode is None and (source, target) != ("f64", "f16")
        return _narrow(source, target) if usable else None

    def _from_int(self, op: FloatOperation, fmt: FormatName, width: int) -> HostRule | None:
        signed = bool(op.signed)
        if fmt == "f16" and width > 16:
            return None  # it would be rounded twice on the way
        exact = width <= _FORMATS[fmt].precision
        if op.mode is not None and not exact:
            return None
        if not signed and width == 64 and fmt == "f32" and self.halves_unsigned:
            return _lane_by_lane(_from_int(fmt, 64, signed=False), 32)
        if signed or self.has_unsigned:
            return _from_int(fmt, max(width, 32), signed=signed)
        return None if width == 64 else _from_int(fmt, 2 * max(width, 16), signed=signed)

    def require_mode(self, g: Any, rm: Any) -> None:
        """Leave the region where the host can't round as `rm` (i3) says."""
        g.require(g.b.icmp_unsigned("<", rm, rm.type(HOST_MODES)))


# -- operations on one piece


def _arithmetic(verb: str, fmt: FormatName) -> HostRule:
    intrinsic = {"add": "fadd", "mul": "fmul", "div": "fdiv", "sqrt": "sqrt"}[verb]

    def rule(g: Any, args: Sequence[Lanes]) -> ResultAndFlags:
        result = _constrained(g, intrinsic, [_real(g, a, fmt) for a in args])
        return _canonical(g, result, fmt), {}

    return rule


def _through_f32(verb: str) -> HostRule:
    """f16 by f32, which has more than twice its precision: rounding twice is as rounding once."""
    intrinsic = {"add": "fadd", "mul": "fmul", "div": "fdiv", "sqrt": "sqrt"}[verb]

    def rule(g: Any, args: Sequence[Lanes]) -> ResultAndFlags:
        wide = [_resized(g, "fpext", _real(g, a, "f16"), "f32") for a in args]
        result = _resized(g, "fptrunc", _constrained(g, intrinsic, wide), "f16")
        return _canonical(g, result, "f16"), {}

    return rule


def _fma(fmt: FormatName) -> HostRule:
    def rule(g: Any, args: Sequence[Lanes]) -> ResultAndFlags:
        factors_and_addend = [_real(g, a, fmt) for a in args]
        result = _constrained(g, "fma", factors_and_addend)

        def on_nan() -> None:
            _raise_invalid_product(g, _FORMATS[fmt], args)

        return _canonical(g, result, fmt, on_nan), {}

    return rule


def _raise_invalid_product(g: Any, fmt: Format, args: Sequence[Lanes]) -> None:
    """NV for infinity times zero whatever the addend, which hosts leave to the addend if NaN."""
    b = g.b
    mag_a, mag_b, _ = (b.and_(a, build.filled(a.type, fmt.sign - 1)) for a in args)

    def is_(value: Lanes, pattern: int) -> Lanes:
        return b.icmp_unsigned("==", value, build.filled(value.type, pattern))

    invalid = b.or_(
        b.and_(is_(mag_a, fmt.infinity), is_(mag_b, 0)),
        b.and_(is_(mag_a, 0), is_(mag_b, fmt.infinity)),
    )
    factor = b.select(
        invalid, build.filled(mag_a.type, fmt.infinity), build.filled(mag_a.type, fmt.one)
    )
    zero = build.filled(mag_a.type, 0)
    _constrained(g, "fmul", [_real(g, factor, fmt.name), _real(g, zero, fmt.name)])


def _widen(source: FormatName, target: FormatName) -> HostRule:
    def rule(g: Any, args: Sequence[Lanes]) -> ResultAndFlags:
        wide = _resized(g, "fpext", _real(g, args[0], source), target)
        return _canonical(g, wide, target), {}

    return rule


def _narrow(source: FormatName, target: FormatName) -> HostRule:
    def rule(g: Any, args: Sequence[Lanes]) -> ResultAndFlags:
        narrow = _resized(g, "fptrunc", _real(g, args[0], source), target)
        return _canonical(g, narrow, target), {}

    return rule


def _to_int(fmt: FormatName, op: FloatOperation) -> HostRule:
    """Rounded, compared with the limits, converted; NV and NX are given, nothing else raises."""
    assert op.width is not None
    width, signed = op.width, bool(op.signed)
    least = -(2.0 ** (width - 1)) if signed else 0.0
    past = 2.0 ** (width - signed)
    greatest = (1 << (width - signed)) - 1
    lowest = greatest + 1 if signed else 0

    def rule(g: Any, args: Sequence[Lanes]) -> ResultAndFlags:
        b = g.b
        x = _real(g, args[0], fmt)
        if fmt == "f16":
            x = _resized(g, "fpext", x, "f32")
        whole = _constrained(g, _ROUNDINGS[op.mode], [x], rounding=op.mode is None)
        low_enough = b.fcmp_ordered("<", whole, _number(whole.type, past))
        high_enough = b.fcmp_ordered(">=", whole, _number(whole.type, least))
        valid = b.and_(low_enough, high_enough)
        safe = b.select(valid, whole, _number(whole.type, 0.0))
        out = _like(args[0], ir.IntType(max(width, 32)))
        convert = "fptosi" if signed else "fptoui"
        number = _constrained(g, convert, [safe], result=out, rounding=False)
        if width < 32:
            number = b.trunc(number, _like(args[0], ir.IntType(width)))
        # A NaN, which is not below the lower limit either, gives the greatest integer.
        too_low = b.fcmp_ordered("<", whole, _number(whole.type, least))
        bound = b.select(too_low, build.filled(number.type, lowest),
                         build.filled(number.type, greatest))  # fmt: skip
        value = b.select(valid, number, bound)
        nx = b.and_(valid, b.fcmp_unordered("!=", whole, x))
        return value, {"nv": b.not_(valid), "nx": nx}

    return rule


def _from_int(fmt: FormatName, width: int, *, signed: bool) -> HostRule:
    def rule(g: Any, args: Sequence[Lanes]) -> ResultAndFlags:
        b, number = g.b, args[0]
        if (have := build.element_type(number).width) < width:
            wide = _like(number, ir.IntType(width))
            number = (b.sext if signed else b.zext)(number, wide)
        convert = "sitofp" if signed or have < width else "uitofp"
        target = "f32" if fmt == "f16" else fmt
        real = _constrained(g, convert, [number], result=_like(number, _TYPES[target]))
        if fmt == "f16":
            real = _resized(g, "fptrunc", real, "f16")
        return _pattern(g, real, fmt), {}

    return rule


def _lane_by_lane(convert: HostRule, width: int) -> HostRule:
    """A conversion to `width` bits without flags of its own, as scalars."""

    def rule(g: Any, args: Sequence[Lanes]) -> ResultAndFlags:
        b, (number,) = g.b, args
        if not isinstance(number.type, ir.VectorType):
            return convert(g, args)
        out = build.filled(build.vector(number.type.count, width), 0)
        for i in range(number.type.count):
            lane, _ = convert(g, [b.extract_element(number, I32(i))])
            out = b.insert_element(out, lane, I32(i))
        return out, {}

    return rule


# -- pieces of LLVM IR


def _like(lanes: Any, element: Any) -> Any:
    """`element` in as many lanes as a value has."""
    vector = isinstance(lanes.type, ir.VectorType)
    return ir.VectorType(element, lanes.type.count) if vector else element


def _real(g: Any, pattern: Lanes, fmt: FormatName) -> Any:
    return g.b.bitcast(pattern, _like(pattern, _TYPES[fmt]))


def _pattern(g: Any, real: Any, fmt: FormatName) -> Lanes:
    return g.b.bitcast(real, _like(real, ir.IntType(_FORMATS[fmt].width)))


def _number(type_: Any, number: float) -> Any:
    vector = isinstance(type_, ir.VectorType)
    return ir.Constant(type_, [number] * type_.count if vector else number)


def _resized(g: Any, verb: str, real: Any, fmt: FormatName) -> Any:
    rounding = verb == "fptrunc"
    return _constrained(g, verb, [real], result=_like(real, _TYPES[fmt]), rounding=rounding)


def _constrained(
    g: Any, verb: str, args: Sequence[Any], *, result: Any = None, rounding: bool | None = None
) -> Any:
    """A constrained intrinsic in the mode and with the flags of the environment."""
    b = g.b
    out = result or args[0].type
    name = f"llvm.experimental.constrained.{verb}.{_mangled(out)}"
    if result is not None:
        name += f".{_mangled(args[0].type)}"
    takes_mode = verb not in ("fpext", "fptosi", "fptoui", "trunc", "floor", "ceil", "round",
                              "roundeven")  # fmt: skip
    if rounding is not None:
        takes_mode = rounding
    metadata = ir.MetaDataType()
    texts = (["round.dynamic"] if takes_mode else []) + ["fpexcept.strict"]
    function = b.module.globals.get(name)
    if function is None:
        parameters = [a.type for a in args] + [metadata] * len(texts)
        function = ir.Function(b.module, ir.FunctionType(out, parameters), name)
    return b.call(function, [*args, *(ir.MetaDataString(b.module, t) for t in texts)])


def _mangled(type_: Any) -> str:
    if isinstance(type_, ir.VectorType):
        return f"v{type_.count}{_mangled(type_.element)}"
    if isinstance(type_, ir.IntType):
        return f"i{type_.width}"
    return next(_SUFFIX[fmt] for fmt, t in _TYPES.items() if t == type_)


def _canonical(
    g: Any, real: Any, fmt: FormatName, on_nan: Callable[[], None] | None = None
) -> Lanes:
    """The pattern of a result, NaNs made canonical (F 11.3); they are rare, so in a branch.

    `on_nan` emits what else is to be done if there is one.
    """
    b = g.b
    nan = b.fcmp_unordered("uno", real, real)
    pattern = _pattern(g, real, fmt)
    found = nan
    if isinstance(real.type, ir.VectorType):
        found = build.intrinsic(b, "vector.reduce.or", [nan], I1)
    before = b.block
    mend, after = b.append_basic_block("nan"), b.append_basic_block("number")
    b.cbranch(found, mend, after).set_weights([1, 1 << 20])
    b.position_at_end(mend)
    canonical = b.select(nan, build.filled(pattern.type, _FORMATS[fmt].nan), pattern)
    if on_nan is not None:
        on_nan()
    b.branch(after)
    mended = b.block
    b.position_at_end(after)
    phi = b.phi(pattern.type)
    phi.add_incoming(pattern, before)
    phi.add_incoming(canonical, mended)
    return phi
