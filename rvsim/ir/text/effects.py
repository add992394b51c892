"""Text rules of what is more than arithmetic: state, memory, control, and the statements."""

from __future__ import annotations

from typing import Final

from rvsim.ir.program import LoopBody
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
from rvsim.ir.text.writer import ARRAYS, ATOM, MEMORY, FormulaText, StatementRule, Text, ValueRule
from rvsim.ir.value import Value


def _read_v(g: FormulaText, v: Value) -> Text:
    field, reg_offset, _ = v.attrs
    return g.register("v", field, reg_offset), ATOM


def _read_mask(g: FormulaText, v: Value) -> Text:
    return f"mask({g.register('v', v.attrs[0])})", ATOM


def _load(g: FormulaText, v: Value) -> Text:
    return f"mem{v.attrs[0]}[{g.expr(v.args[0])}]", ATOM


def _load_lanes(g: FormulaText, v: Value) -> Text:
    return g.place(v.args[0], v.attrs[0], v.args[1]), ATOM


def _store_lanes(g: FormulaText, v: Value) -> Text:
    addr, values, active = v.args
    return f"{g.place(addr, values.type.width, active)} = {g.expr(values)}", 0


def _read_array(g: FormulaText, v: Value) -> Text:
    return f"{v.attrs[0]}[{g.expr(v.args[0])}]", ATOM


def _invoke(g: FormulaText, v: Value) -> Text:
    condition, *args = v.args
    call = g.call(v.attrs[0].name, args)
    return call if condition.const == 1 else (f"{call[0]} if {g.expr(condition)}", 0)


def _for(g: FormulaText, v: Value) -> Text:
    """Statements for the loop; its components are the names of what it carries."""
    count, loop = v.attrs
    assert isinstance(loop, LoopBody)
    g.loops += 1
    label = "" if g.loops == 1 else str(g.loops)
    index = f"j{label}"
    n = len(v.args)
    names = [f"c{label}" if n == 1 else f"c{label}_{k}" for k in range(n)]
    for name, first in zip(names, v.args, strict=True):
        g.lines.append(f"{name} = {g.expr(first)}")

    def body() -> None:
        g.names[id(loop.index)] = index
        g.names.update(zip(map(id, loop.carried), names, strict=True))
        results = [g.expr(r) for r in loop.results]
        leave = None if loop.until is None else g.expr(loop.until)
        if leave is not None and loop.until is not None:
            leave = g.name(loop.until, leave)
        g.lines.append(f"{', '.join(names)} = {', '.join(results)}")
        if leave is not None:
            g.lines.append(f"if ({leave}) {{ break }}")

    g.lines.append(f"for ({index} < {count}) {g.braces(body)}")
    g.names[id(v)] = tuple(names)
    return ", ".join(names), ATOM


def _carried(g: FormulaText, v: Value) -> Text:
    raise AssertionError("a carried value is named by its loop")


def _operation(g: FormulaText, v: Value) -> Text:
    """``name(a, b)``; where more than the result is used, ``r = name(a, b)`` and ``r.label``."""
    function = v.attrs[0]
    text = g.call(str(function.name), v.args)
    if all(k == 0 for owner, k in g.components if owner == id(v)):
        return text
    g.operations += 1
    name = f"r{g.operations if g.operations > 1 else ''}"
    g.lines.append(f"{name} = {text[0]}")
    g.names[id(v)] = (name, *(f"{name}.{label}" for label in function.labels[1:]))
    return name, ATOM


def _proj(g: FormulaText, v: Value) -> Text:
    whole = v.args[0]
    if id(whole) not in g.names:
        text, level = g.value_rules[whole.prim](g, whole)
        if whole.prim != "for" and id(whole) not in g.names:  # used once
            return text, level
    return g.names[id(whole)][v.attrs[0]], ATOM


EFFECT_RULES: Final[dict[str, ValueRule]] = {
    "read": lambda g, v: (v.attrs[0], ATOM),
    "read_x": lambda g, v: (g.register("x", v.attrs[0]), ATOM),
    "read_f": lambda g, v: (g.register("f", v.attrs[0]), ATOM),
    "read_v": _read_v,
    "read_mask": _read_mask,
    "load": _load,
    "load_lanes": _load_lanes,
    "store_lanes": _store_lanes,
    "read_array": _read_array,
    "invoke": _invoke,
    "for": _for,
    "call": _operation,
    "carried": _carried,
    "proj": _proj,
}


# -- statements


def _let(g: FormulaText, stmt: Let) -> None:
    """Memory accesses stay where they are; state is read before it is written in any case."""
    value = stmt.value
    if value.prim not in MEMORY or id(value) in g.names:
        return
    text, _ = g.value_rules[value.prim](g, value)
    if value.prim in ARRAYS:
        if g.uses[id(value)]:
            g.name(value, text)
        elif value.prim == "invoke":
            g.lines.append(text)
        return
    if value.prim == "load":
        if g.uses[id(value)] == 0:
            g.lines.append(text)
        elif g.uses[id(value)] > 1 or g.stores:
            g.name(value, text)
        return
    used = g.uses[id(value)] > 0 if value.prim == "store_lanes" else (id(value), 1) in g.components
    fault = ""
    if used:
        g.faults += 1
        fault = f"fault{g.faults}"
    if value.prim == "store_lanes":
        g.lines.append(f"{fault} = ({text})" if used else text)
        g.names[id(value)] = fault
    elif not used and not g.stores and g.uses[id(g.components.get((id(value), 0)))] == 1:
        return
    elif used or (id(value), 0) in g.components:
        g.temporaries += 1
        name = f"t{g.temporaries}"
        g.lines.append(f"{name}, {fault} = {text}" if used else f"{name} = {text}")
        g.names[id(value)] = (name, fault)
    else:
        g.lines.append(text)


def _store(g: FormulaText, stmt: Store) -> None:
    g.lines.append(f"mem{stmt.value.type.width}[{g.expr(stmt.addr)}] = {g.expr(stmt.value)}")


def _write(g: FormulaText, stmt: Write) -> None:
    g.lines.append(f"{stmt.name} = {g.expr(stmt.value)}")


def _write_x(g: FormulaText, stmt: WriteX) -> None:
    if stmt.field == 0 or g.fields.get(str(stmt.field)) == 0:
        return
    g.lines.append(f"{g.register('x', stmt.field)} = {g.expr(stmt.value)}")


def _write_f(g: FormulaText, stmt: WriteF) -> None:
    g.lines.append(f"{g.register('f', stmt.field)} = {g.expr(stmt.value)}")


def _write_v(g: FormulaText, stmt: WriteV) -> None:
    target = g.register("v", stmt.field, stmt.reg_offset)
    part = f".byte[{stmt.byte_offset} ...]" if stmt.byte_offset else ""
    g.lines.append(f"{target}{part} = {g.expr(stmt.value)}")


def _write_mask(g: FormulaText, stmt: WriteMask) -> None:
    g.lines.append(f"mask({g.register('v', stmt.field)}) = {g.expr(stmt.value)}")


def _trap(g: FormulaText, stmt: RaiseTrap) -> None:
    tval = "" if stmt.tval.const == 0 else f", tval = {g.expr(stmt.tval)}"
    g.lines.append(f'trap({stmt.cause}, "{stmt.why}"{tval})')


def _if(g: FormulaText, stmt: If) -> None:
    cond = g.expr(stmt.cond)
    g.lines.append(f"if ({cond}) {g.braces(lambda: g.block(stmt.body))}")


def _write_array(g: FormulaText, stmt: WriteArray) -> None:
    g.lines.append(f"{stmt.name}[{g.expr(stmt.index)}] = {g.expr(stmt.value)}")


def _repeat(g: FormulaText, stmt: Repeat) -> None:
    g.loops += 1
    index = "j" if g.loops == 1 else f"j{g.loops}"
    count = g.expr(stmt.count)
    g.names[id(stmt.index)] = index
    g.lines.append(f"for ({index} < {count}) {g.braces(lambda: g.block(stmt.body))}")


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
