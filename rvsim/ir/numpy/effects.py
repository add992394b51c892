"""NumPy rules of what is more than arithmetic: state, memory, control, and the statements."""

from __future__ import annotations

import re
from typing import Final

from rvsim.hart.state import F_BASE, SLOT, X_BASE
from rvsim.ir.numpy.emitter import Emitter, StatementRule, ValueRule, is_array
from rvsim.ir.numpy.host import has
from rvsim.ir.program import LoopBody, NamedOperation
from rvsim.ir.statements import (
    Field,
    If,
    Let,
    RaiseTrap,
    Repeat,
    Store,
    Write,
    WriteArray,
    WriteF,
    WriteMask,
    WriteV,
    WriteX,
)
from rvsim.ir.types import Type
from rvsim.ir.value import Value

assert (X_BASE, F_BASE) == (0, 32)


def _register_index(field: Field, offset: int) -> str:
    if isinstance(field, int):
        return str(field + offset)
    return f"({field} + {offset})" if offset else field


def _v_slice(field: Field, reg_offset: int, byte_offset: int, type_: Type) -> str:
    unit = type_.width // 8
    start = f"{_register_index(field, reg_offset)} * vl{type_.width}"
    if byte_offset:
        start += f" + {byte_offset // unit}"
    return f"v{type_.width}[{start} : {start} + {type_.lanes}]"


def _read(g: Emitter, v: Value) -> str:
    name, type_ = v.attrs
    word = f"s[{SLOT[name]}]"
    return word if type_.width == 64 else f"({word} & 0x{type_.ones:x})"


def _f_word(field: Field) -> str:
    return str(F_BASE + field) if isinstance(field, int) else f"{F_BASE} + {field}"


def _read_v(g: Emitter, v: Value) -> str:
    field, reg_offset, type_ = v.attrs
    return _v_slice(field, reg_offset, 0, type_)


def _read_mask(g: Emitter, v: Value) -> str:
    field, type_ = v.attrs
    return f"unpack({_v_slice(field, 0, 0, Type(8, -(-type_.lanes // 8)))}, {type_.lanes})"


def _active(g: Emitter, active: Value, *, copies: bool = False) -> str:
    """A mask, or None for all lanes; a load of all lanes may hand out a window on memory."""
    return "None" if active.const == 1 and not copies else g.array(active)


def _load_lanes(g: Emitter, v: Value) -> str:
    addr, active = v.args
    n = active.type.lanes
    if addr.type.lanes is None:
        return (
            f"load_run({g.expr(addr)}, {_active(g, active, copies=g.stores)}, {n}, u{v.attrs[0]})"
        )
    return f"load_at({g.array(addr)}, {_active(g, active)}, u{v.attrs[0]})"


def _store_lanes(g: Emitter, v: Value) -> str:
    addr, values, active = v.args
    if addr.type.lanes is None:
        return f"store_run({g.expr(addr)}, {g.array(values)}, {_active(g, active)})"
    return f"store_at({g.array(addr)}, {g.array(values)}, {_active(g, active)})"


def _for(g: Emitter, v: Value) -> str:
    count, loop = v.attrs
    assert isinstance(loop, LoopBody)
    g.fresh += 1
    prefix = f"c{g.fresh}_"
    names = [f"{prefix}{i}" for i in range(len(v.args))]
    for name, arg in zip(names, v.args, strict=True):
        g.line(f"{name} = {g.array(arg) if is_array(arg) else g.expr(arg)}")
    g.line(f"for {prefix}i in range({count}):")
    outer = dict(g.names)
    g.names[id(loop.index)] = f"{prefix}i"
    g.names.update({id(c): name for c, name in zip(loop.carried, names, strict=True)})
    g.indent += 1
    results = [g.array(r) if is_array(r) else g.expr(r) for r in loop.results]
    leave = None
    if loop.until is not None:
        leave = g.assign(loop.until, g.expr(loop.until))
    g.line(f"{', '.join(names)} = {', '.join(results)}")
    if leave is not None:
        g.line(f"if {leave}: break")
    g.indent -= 1
    g.names = outer
    return f"({', '.join(names)},)"


def _call(g: Emitter, v: Value) -> str:
    """What the host makes of it; its definition where there is no such thing or the host refuses.

    The host takes the operands that are lanes; a scalar is a rounding mode, and 0 the host's.
    """
    function = v.attrs[0]
    texts = [g.array(a) if is_array(a) else g.expr(a) for a in v.args]
    outer = dict(g.names)
    for param, text in zip(function.params, texts, strict=True):
        g.names[id(param)] = text if text.isidentifier() else g.assign(param, text)
    outcome = ""
    if g.host and has(function.name) and all(map(is_array, v.args[:1])):
        outcome = _host_call(g, function)
        g.line(f"if {outcome} is None:")
        g.indent += 1
    results = [g.array(r) if is_array(r) else g.expr(r) for r in function.results]
    text = f"({', '.join(results)},)"
    if outcome:
        g.line(f"{outcome} = {text}")
        g.indent -= 1
    g.names = outer
    return outcome or text


def _host_call(g: Emitter, function: NamedOperation) -> str:
    g.fresh += 1
    outcome = f"t{g.fresh}"
    host = re.sub(r"\W+", "_", f"host_{'_'.join((str(function.name), *function.labels))}")
    g.made_once[host] = f"host_operation({function.name!r}, {function.labels})"
    lanes = ", ".join(g.names[id(p)] for p in function.params if is_array(p))
    modes = [g.names[id(p)] for p in function.params if not is_array(p)]
    condition = f" if {modes[0]} == 0 else None" if modes else ""
    g.line(f"{outcome} = {host}({lanes}){condition}")
    return outcome


def _read_array(g: Emitter, v: Value) -> str:
    return f"a_{v.attrs[0]}[{g.expr(v.args[0])}]"


def _invoke(g: Emitter, v: Value) -> str:
    condition, *args = v.args
    call = f"{v.attrs[0].name}({', '.join(g.expr(a) for a in args)})"
    return call if condition.const == 1 else f"{call} if {g.expr(condition)} else 0"


def _unreachable(g: Emitter, v: Value) -> str:
    raise AssertionError(f"a {v.prim} is named by its loop")


EFFECT_RULES: Final[dict[str, ValueRule]] = {
    "const": lambda g, v: hex(v.attrs[0]) if v.attrs[0] > 9 else str(v.attrs[0]),
    "param": lambda g, v: v.attrs[0],
    "read": _read,
    "read_x": lambda g, v: f"s[{v.attrs[0]}]",
    "read_f": lambda g, v: f"s[{_f_word(v.attrs[0])}]",
    "read_v": _read_v,
    "read_mask": _read_mask,
    "load": lambda g, v: f"load{v.attrs[0] // 8}({g.expr(v.args[0])})",
    "load_lanes": _load_lanes,
    "store_lanes": _store_lanes,
    "read_array": _read_array,
    "invoke": _invoke,
    "for": _for,
    "call": _call,
    "carried": _unreachable,
    "proj": lambda g, v: f"{g.expr(v.args[0])}[{v.attrs[0]}]",
}


# -- statements


def _let(g: Emitter, stmt: Let) -> None:
    value = stmt.value
    if id(value) in g.names:
        return
    g.assign(value, g.value_rules[value.prim](g, value))


def _write(g: Emitter, stmt: Write) -> None:
    g.line(f"s[{SLOT[stmt.name]}] = {g.expr(stmt.value)}")
    if g.events:
        g.line(f"log_csr({stmt.name!r})")


def _write_x(g: Emitter, stmt: WriteX) -> None:
    if stmt.field in g.zero or stmt.field == 0:
        return
    g.line(f"s[{stmt.field}] = {g.expr(stmt.value)}")
    if g.events:
        g.line(f"log_x({stmt.field})")


def _write_f(g: Emitter, stmt: WriteF) -> None:
    g.line(f"s[{_f_word(stmt.field)}] = {g.expr(stmt.value)}")
    if g.events:
        g.line(f"log_f({stmt.field})")


def _write_v(g: Emitter, stmt: WriteV) -> None:
    type_ = stmt.value.type
    target = _v_slice(stmt.field, stmt.reg_offset, stmt.byte_offset, type_)
    g.line(f"{target} = {g.expr(stmt.value)}")
    if g.events:
        first = _register_index(stmt.field, stmt.reg_offset)
        g.line(f"log_v({first}, {stmt.byte_offset}, {type_.total_bits // 8})")


def _write_mask(g: Emitter, stmt: WriteMask) -> None:
    n = stmt.value.type.lanes or 0
    target = _v_slice(stmt.field, 0, 0, Type(8, n // 8))
    g.line(f"{target} = pack({g.array(stmt.value)})")
    if g.events:
        g.line(f"log_v({_register_index(stmt.field, 0)}, 0, {n // 8})")


def _store(g: Emitter, stmt: Store) -> None:
    g.line(f"store{stmt.value.type.width // 8}({g.expr(stmt.addr)}, {g.expr(stmt.value)})")


def _trap(g: Emitter, stmt: RaiseTrap) -> None:
    g.line(f"raise GuestTrap({stmt.cause}, {g.expr(stmt.tval)}, {stmt.why!r})")


def _if(g: Emitter, stmt: If) -> None:
    g.line(f"if {g.expr(stmt.cond)}:")
    g.nested(stmt.body)


def _write_array(g: Emitter, stmt: WriteArray) -> None:
    g.line(f"a_{stmt.name}[{g.expr(stmt.index)}] = {g.expr(stmt.value)}")


def _repeat(g: Emitter, stmt: Repeat) -> None:
    g.fresh += 1
    index = f"i{g.fresh}"
    g.line(f"for {index} in range({g.expr(stmt.count)}):")
    outer = dict(g.names)
    g.names[id(stmt.index)] = index
    g.nested(stmt.body)
    g.names = outer


STATEMENT_RULES: Final[dict[type, StatementRule]] = {
    Let: _let,
    Store: _store,
    Write: _write,
    WriteX: _write_x,
    WriteF: _write_f,
    WriteV: _write_v,
    WriteMask: _write_mask,
    WriteArray: _write_array,
    RaiseTrap: _trap,
    If: _if,
    Repeat: _repeat,
}
