"""LLVM rules of what is more than arithmetic: state, memory, control, and the statements."""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from rvsim.ir.llvm import build
from rvsim.ir.llvm.build import I64, llvm_type
from rvsim.ir.llvm.lowering import Lowering, StatementRule, ValueRule
from rvsim.ir.program import LoopBody, Subprogram
from rvsim.ir.statements import (
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
from rvsim.ir.value import Value


def _const(g: Lowering, v: Value) -> Any:
    return ir.IntType(v.type.width)(v.attrs[0])


def _param(g: Lowering, v: Value) -> Any:
    return ir.IntType(v.type.width)(g.fields[v.attrs[0]] & v.type.ones)


# -- state and memory


def _read(g: Lowering, v: Value) -> Any:
    return build.resized(g.b, g.state.read(g.b, v.attrs[0]), v.type.width)


def _read_x(g: Lowering, v: Value) -> Any:
    register = g.register(v.attrs[0])
    return g.state.read_x(g.b, register) if register else I64(0)


def _read_f(g: Lowering, v: Value) -> Any:
    return g.state.read_f(g.b, g.register(v.attrs[0]))


def _read_v(g: Lowering, v: Value) -> Any:
    field, reg_offset, type_ = v.attrs
    return g.state.read_v(g.b, g.register(field) + reg_offset, 0, llvm_type(type_))


def _read_mask(g: Lowering, v: Value) -> Any:
    n = v.type.lanes or 0
    whole = ir.IntType(-(-n // 8) * 8)
    word = g.state.read_v(g.b, g.register(v.attrs[0]), 0, whole)
    return build.word_mask(g.b, build.resized(g.b, word, n))


def _load(g: Lowering, v: Value, addr: Any) -> Any:
    width = v.attrs[0]
    g.require_load(addr, width // 8)
    return g.memory.load(g.b, addr, ir.IntType(width))


def _load_lanes(g: Lowering, v: Value, addr: Any, active: Any) -> Any:
    everything = v.args[1].const == 1
    return g.memory.load_lanes(g.b, addr, active, v.attrs[0], all_active=everything)


def _store_lanes(g: Lowering, v: Value, addr: Any, values: Any, active: Any) -> Any:
    everything = v.args[2].const == 1
    return g.memory.store_lanes(g.b, addr, values, active, all_active=everything)


# -- control


def _for(g: Lowering, v: Value, *init: Any) -> Any:
    count, loop = v.attrs
    assert isinstance(loop, LoopBody)
    if count == 0:
        return init
    outer = dict(g.values)

    def body(index: Any, *carried: Any) -> tuple[list[Any], Any]:
        g.values[id(loop.index)] = index
        g.values.update(zip(map(id, loop.carried), carried, strict=True))
        results = [g.value(r) for r in loop.results]
        return results, None if loop.until is None else g.value(loop.until)

    results = build.loop_until(g.b, count, init, body)
    g.values = outer
    return tuple(results)


def _call(g: Lowering, v: Value, *args: Any) -> Any:
    return g.call(v.attrs[0], args)


def _read_array(g: Lowering, v: Value, index: Any) -> Any:
    return g.state.read_array(g.b, v.attrs[0], g.index(v.args[0]))


def _invoke(g: Lowering, v: Value, condition: Any, *args: Any) -> Any:
    subprogram: Subprogram = v.attrs[0]
    if v.args[0].const == 1:
        return g.state.invoke(g.b, subprogram, args)
    call, after = g.b.append_basic_block("call"), g.b.append_basic_block("after")
    before = g.b.block
    g.b.cbranch(condition, call, after)
    g.b.position_at_end(call)
    result = g.state.invoke(g.b, subprogram, args)
    g.b.branch(after)
    g.b.position_at_end(after)
    either = g.b.phi(I64)
    either.add_incoming(I64(0), before)
    either.add_incoming(result, call)
    return either


def _carried(g: Lowering, v: Value) -> Any:
    raise AssertionError("a carried value is named by its loop")


def _proj(g: Lowering, v: Value, components: Any) -> Any:
    return components[v.attrs[0]]


EFFECT_RULES: Final[dict[str, ValueRule]] = {
    "const": _const,
    "param": _param,
    "read": _read,
    "read_x": _read_x,
    "read_f": _read_f,
    "read_v": _read_v,
    "read_mask": _read_mask,
    "load": _load,
    "load_lanes": _load_lanes,
    "store_lanes": _store_lanes,
    "read_array": _read_array,
    "invoke": _invoke,
    "for": _for,
    "call": _call,
    "carried": _carried,
    "proj": _proj,
}


# -- statements


def _let(g: Lowering, stmt: Let) -> None:
    g.value(stmt.value)


def _store(g: Lowering, stmt: Store) -> None:
    addr, value = g.value(stmt.addr), g.value(stmt.value)
    g.require_store(addr, stmt.value.type.width // 8)
    g.memory.store(g.b, addr, value)


def _write(g: Lowering, stmt: Write) -> None:
    g.state.write(g.b, stmt.name, g.value(stmt.value))


def _write_x(g: Lowering, stmt: WriteX) -> None:
    if register := g.register(stmt.field):
        g.state.write_x(g.b, register, g.value(stmt.value))


def _write_f(g: Lowering, stmt: WriteF) -> None:
    g.state.write_f(g.b, g.register(stmt.field), g.value(stmt.value))


def _write_v(g: Lowering, stmt: WriteV) -> None:
    register = g.register(stmt.field) + stmt.reg_offset
    g.state.write_v(g.b, register, stmt.byte_offset, g.value(stmt.value))


def _write_mask(g: Lowering, stmt: WriteMask) -> None:
    word = build.mask_word(g.b, g.value(stmt.value))
    g.state.write_v(g.b, g.register(stmt.field), 0, word)


def _trap(g: Lowering, stmt: RaiseTrap) -> None:
    g.state.trap(g.b, stmt.cause, g.value(stmt.tval), stmt.why)


def _if(g: Lowering, stmt: If) -> None:
    cond = g.value(stmt.cond)
    then, after = g.b.append_basic_block("then"), g.b.append_basic_block("after")
    g.b.cbranch(cond, then, after)
    outer = dict(g.values)
    g.b.position_at_end(then)
    g.block(stmt.body)
    if not g.b.block.is_terminated:
        g.b.branch(after)
    g.b.position_at_end(after)
    g.values = outer


def _write_array(g: Lowering, stmt: WriteArray) -> None:
    g.state.write_array(g.b, stmt.name, g.index(stmt.index), g.value(stmt.value))


def _repeat(g: Lowering, stmt: Repeat) -> None:
    b, count, before = g.b, g.value(stmt.count), g.b.block
    top, body, after = (b.append_basic_block(name) for name in ("repeat", "round", "after"))
    b.branch(top)
    b.position_at_end(top)
    index = b.phi(I64)
    b.cbranch(b.icmp_unsigned("<", index, count), body, after)
    outer = dict(g.values)
    b.position_at_end(body)
    g.values[id(stmt.index)] = index
    g.block(stmt.body)
    index.add_incoming(I64(0), before)
    index.add_incoming(b.add(index, I64(1)), b.block)
    b.branch(top)
    b.position_at_end(after)
    g.values = outer


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
