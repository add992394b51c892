"""Back end "llvm": a program as one LLVM function, through llvmlite.

Bits are ``iW``, lanes ``<n x iW>``, masks ``<n x i1>``.  Rules compute on these and reach
registers and guest memory only through `StateAccess` and `GuestMemory`, so that a compiler of
whole regions can use the same rules with registers kept in values.

All values are total: a divisor that the body has ruled out is replaced by 1, because `where`
becomes a `select` and both its sides are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from llvmlite import ir

from rvsim.hart.traps import Cause
from rvsim.host.processor import Host
from rvsim.ir import trace as tr
from rvsim.ir.known import known
from rvsim.ir.llvm import build
from rvsim.ir.llvm import lanes as on_lanes
from rvsim.ir.llvm import permute as llvm_permute
from rvsim.ir.llvm.build import I64, PTR, Frame, llvm_type
from rvsim.ir.llvm.elements import ELEMENT_RULES, Rule
from rvsim.ir.llvm.memory import GuestMemory
from rvsim.ir.llvm.state import BufferState, StateAccess
from rvsim.ir.prims import STATEMENTS, check_complete
from rvsim.ir.trace import Field, Program, Region, Statement, Subprogram
from rvsim.ir.value import Value

SIGNATURE: Final = ir.FunctionType(I64, [PTR, PTR, PTR, I64])
"""``i64 f(ptr state, ptr mem, ptr perm, i64 mem_size)``: 0 retired, 1 trapped."""


class Unit:
    """An LLVM module that grows by one function a program, and the texts of their traps.

    >>> with tr.Trace() as t:
    ...     tr.write_x("rd", tr.read_x("rs1") + 1)
    >>> unit = Unit(vlen=256)
    >>> unit.add(t.finish(), "one", fields={"rd": 5, "rs1": 6})
    >>> [function.name for function in unit.module.functions], unit.whys
    (['one'], [])
    """

    def __init__(
        self, vlen: int, arrays: Mapping[str, int] | None = None, host: Host | None = None
    ) -> None:
        self.vlen = vlen
        self.arrays = arrays or {}
        self.module = build.new_module("rvsim", host)
        self.whys: list[str] = []

    def add(self, program: Program, name: str, *, fields: Mapping[str, int]) -> None:
        """Lower `program` for these values of its operand fields."""
        missing = [f for f in program.params() if f not in fields]
        if missing:
            raise KeyError(f"{name}: no value for the operand fields {', '.join(missing)}")
        function = ir.Function(self.module, SIGNATURE, name)
        state, data, perm, size = function.args
        for pointer in (state, data, perm):
            pointer.add_attribute("noalias")
        entry = ir.IRBuilder(function.append_basic_block("entry"))
        b = ir.IRBuilder(function.append_basic_block("body"))
        frame = Frame(entry)
        lowerer = Lowerer(
            b,
            frame,
            self._state(state),
            GuestMemory(data, perm, size, frame),
            fields,
        )
        lowerer.block(program.body)
        if not b.block.is_terminated:
            b.ret(I64(0))
        entry.branch(function.blocks[1])

    def _state(self, base: Any) -> BufferState:
        return BufferState(base, self.vlen, self.whys, self.arrays, self._subprogram)

    def _subprogram(self, module: Any, sub: Subprogram) -> Any:
        return subprogram_function(module, sub, self._state)


def subprogram_function(
    module: Any, sub: Subprogram, state_at: Callable[[Any], StateAccess]
) -> Any:
    """``i64 f(ptr state, i64 ...)`` of a subprogram, made once a module; it can't trap."""
    known = module.globals.get(sub.name)
    if known is not None:
        return known
    function = ir.Function(module, ir.FunctionType(I64, [PTR, *[I64] * len(sub.params)]), sub.name)
    function.attributes.add("noinline")
    base, *args = function.args
    entry = ir.IRBuilder(function.append_basic_block("entry"))
    b = ir.IRBuilder(function.append_basic_block("body"))
    frame = Frame(entry)
    memory = GuestMemory(base, base, I64(0), frame)  # a subprogram reaches no guest memory
    lowerer = Lowerer(b, frame, state_at(base), memory, {})
    given = dict(zip(sub.params, args, strict=True))
    for value in (*sub.program.values(), sub.result):
        if value.prim == "param":
            lowerer.values[id(value)] = given[value.attrs[0]]
    lowerer.block(sub.program.body)
    b.ret(lowerer.value(sub.result))
    entry.branch(function.blocks[1])
    return function


def lower(
    program: Program, name: str, *, fields: Mapping[str, int], vlen: int
) -> tuple[Any, tuple[str, ...]]:
    """One program as a module with one function; and the why texts that `trap_why` counts."""
    unit = Unit(vlen)
    unit.add(program, name, fields=fields)
    return unit.module, tuple(unit.whys)


class Lowerer:
    """Emits the statements of programs, and the values they need, where builder `b` stands.

    `fields` holds the operand fields; `values` the LLVM value of each node that is known here.
    """

    def __init__(
        self,
        b: Any,
        frame: Frame,
        state: StateAccess,
        memory: GuestMemory,
        fields: Mapping[str, int],
    ) -> None:
        self.b = b
        self.frame = frame
        self.state = state
        self.memory = memory
        self.fields = fields
        self.values: dict[int, Any] = {}

    def value(self, value: Value) -> Any:
        """The LLVM value of a node; operands first, without recursion into long chains."""
        stack = [value]
        while stack:
            node = stack[-1]
            if id(node) in self.values:
                stack.pop()
                continue
            waiting = [a for a in node.args if id(a) not in self.values]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            args = [self.values[id(a)] for a in node.args]
            self.values[id(node)] = RULES[node.prim](self, node, *args)
            stack.pop()
        return self.values[id(value)]

    def block(self, body: Iterable[Statement]) -> None:
        """Statements up to the first that always traps."""
        for stmt in body:
            if self.b.block.is_terminated:
                return
            STATEMENT_RULES[type(stmt).__name__](self, stmt)

    def call(self, function: tr.Function, args: Sequence[Any]) -> tuple[Any, ...]:
        """The results of a named operation, here by its definition, in place."""
        outer = dict(self.values)
        self.values.update(zip(map(id, function.params), args, strict=True))
        results = tuple(self.value(r) for r in function.results)
        self.values = outer
        return results

    def index(self, value: Value) -> Any:
        """The index of an array element: a constant where the operand fields tell it."""
        fixed = known(value, self.fields)
        return self.value(value) if fixed is None else I64(fixed)

    def register(self, field: Field) -> int:
        return field if isinstance(field, int) else self.fields[field]

    def require_load(self, addr: Any, nbytes: int) -> None:
        """Trap where so many bytes may not be loaded."""
        allowed = self.memory.may_load(self.b, addr, nbytes)
        self.check(allowed, Cause.LOAD_PAGE_FAULT, addr, "load page fault")

    def require_store(self, addr: Any, nbytes: int) -> None:
        """Trap where so many bytes may not be stored."""
        allowed = self.memory.may_store(self.b, addr, nbytes)
        self.check(allowed, Cause.STORE_PAGE_FAULT, addr, "store page fault")

    def check(self, allowed: Any, cause: int, addr: Any, why: str) -> None:
        """Continue where `allowed` is set, trap elsewhere."""
        go, fault = self.b.append_basic_block("go"), self.b.append_basic_block("fault")
        self.b.cbranch(allowed, go, fault)
        self.b.position_at_end(fault)
        self.state.trap(self.b, cause, addr, why)
        self.b.position_at_end(go)


def _param(g: Lowerer, v: Value) -> Any:
    return ir.IntType(v.type.width)(g.fields[v.attrs[0]] & v.type.ones)


# -- state and memory


def _read(g: Lowerer, v: Value) -> Any:
    return build.resized(g.b, g.state.read(g.b, v.attrs[0]), v.type.width)


def _read_x(g: Lowerer, v: Value) -> Any:
    register = g.register(v.attrs[0])
    return g.state.read_x(g.b, register) if register else I64(0)


def _read_f(g: Lowerer, v: Value) -> Any:
    return g.state.read_f(g.b, g.register(v.attrs[0]))


def _read_v(g: Lowerer, v: Value) -> Any:
    field, reg_offset, type_ = v.attrs
    return g.state.read_v(g.b, g.register(field) + reg_offset, 0, llvm_type(type_))


def _read_mask(g: Lowerer, v: Value) -> Any:
    n = v.type.lanes or 0
    whole = ir.IntType(-(-n // 8) * 8)
    word = g.state.read_v(g.b, g.register(v.attrs[0]), 0, whole)
    return build.word_mask(g.b, build.resized(g.b, word, n))


def _load(g: Lowerer, v: Value, addr: Any) -> Any:
    width = v.attrs[0]
    g.require_load(addr, width // 8)
    return g.memory.load(g.b, addr, ir.IntType(width))


def _load_lanes(g: Lowerer, v: Value, addr: Any, active: Any) -> Any:
    everything = v.args[1].const == 1
    return g.memory.load_lanes(g.b, addr, active, v.attrs[0], all_active=everything)


def _store_lanes(g: Lowerer, v: Value, addr: Any, values: Any, active: Any) -> Any:
    everything = v.args[2].const == 1
    return g.memory.store_lanes(g.b, addr, values, active, all_active=everything)


# -- control


def _for(g: Lowerer, v: Value, *init: Any) -> Any:
    count, region = v.attrs
    assert isinstance(region, Region)
    if count == 0:
        return init
    outer = dict(g.values)

    def body(index: Any, *carried: Any) -> tuple[list[Any], Any]:
        g.values[id(region.index)] = index
        g.values.update(zip(map(id, region.carried), carried, strict=True))
        results = [g.value(r) for r in region.results]
        return results, None if region.until is None else g.value(region.until)

    results = build.loop_until(g.b, count, init, body)
    g.values = outer
    return tuple(results)


def _call(g: Lowerer, v: Value, *args: Any) -> Any:
    return g.call(v.attrs[0], args)


def _read_array(g: Lowerer, v: Value, index: Any) -> Any:
    return g.state.read_array(g.b, v.attrs[0], g.index(v.args[0]))


def _invoke(g: Lowerer, v: Value, condition: Any, *args: Any) -> Any:
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


def _carried(g: Lowerer, v: Value) -> Any:
    raise AssertionError("a carried value is named by its loop")


def _proj(g: Lowerer, v: Value, components: Any) -> Any:
    return components[v.attrs[0]]


RULES: Final[dict[str, Rule]] = {
    **ELEMENT_RULES,
    "const": lambda g, v: ir.IntType(v.type.width)(v.attrs[0]),
    "param": _param,
    "splat": on_lanes.splat,
    "iota": on_lanes.iota,
    "extract": on_lanes.extract,
    "insert": on_lanes.insert,
    "shuffle": on_lanes.shuffle,
    "take": llvm_permute.take,
    "concat": on_lanes.concat,
    "bitcast": on_lanes.bitcast,
    "compress": on_lanes.compress,
    "prefix_count": on_lanes.prefix_count,
    "count": on_lanes.count,
    "first": on_lanes.first,
    "reduce": on_lanes.reduce,
    "group_sum": on_lanes.group_sum,
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


def _let(g: Lowerer, stmt: tr.Let) -> None:
    g.value(stmt.value)


def _store(g: Lowerer, stmt: tr.Store) -> None:
    addr, value = g.value(stmt.addr), g.value(stmt.value)
    g.require_store(addr, stmt.value.type.width // 8)
    g.memory.store(g.b, addr, value)


def _write(g: Lowerer, stmt: tr.Write) -> None:
    g.state.write(g.b, stmt.name, g.value(stmt.value))


def _write_x(g: Lowerer, stmt: tr.WriteX) -> None:
    if register := g.register(stmt.field):
        g.state.write_x(g.b, register, g.value(stmt.value))


def _write_f(g: Lowerer, stmt: tr.WriteF) -> None:
    g.state.write_f(g.b, g.register(stmt.field), g.value(stmt.value))


def _write_v(g: Lowerer, stmt: tr.WriteV) -> None:
    register = g.register(stmt.field) + stmt.reg_offset
    g.state.write_v(g.b, register, stmt.byte_offset, g.value(stmt.value))


def _write_mask(g: Lowerer, stmt: tr.WriteMask) -> None:
    word = build.mask_word(g.b, g.value(stmt.value))
    g.state.write_v(g.b, g.register(stmt.field), 0, word)


def _trap(g: Lowerer, stmt: tr.Trap) -> None:
    g.state.trap(g.b, stmt.cause, g.value(stmt.tval), stmt.why)


def _if(g: Lowerer, stmt: tr.If) -> None:
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


def _write_array(g: Lowerer, stmt: tr.WriteArray) -> None:
    g.state.write_array(g.b, stmt.name, g.index(stmt.index), g.value(stmt.value))


def _repeat(g: Lowerer, stmt: tr.Repeat) -> None:
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


STATEMENT_RULES: Final[dict[str, Callable[[Lowerer, Any], None]]] = {
    "Let": _let,
    "Store": _store,
    "Write": _write,
    "WriteX": _write_x,
    "WriteF": _write_f,
    "WriteV": _write_v,
    "WriteMask": _write_mask,
    "WriteArray": _write_array,
    "Trap": _trap,
    "If": _if,
    "Repeat": _repeat,
}

check_complete("llvm", RULES)
if STATEMENT_RULES.keys() != set(STATEMENTS):
    raise ImportError("back end llvm: statement rules are not those of rvsim.ir.prims.STATEMENTS")
