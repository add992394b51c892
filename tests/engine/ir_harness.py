"""Runs traced bodies on both back ends: operands go into registers, results come out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rvsim import ir
from rvsim.engine.binding import namespace
from rvsim.hart.memory import GuestFault, Memory
from rvsim.hart.state import State
from rvsim.host.processor import Host
from rvsim.ir import Type, Value
from rvsim.ir.llvm.backend import ModuleBuilder
from rvsim.ir.llvm.engine import NativeFunction, compile_module
from rvsim.ir.numpy.backend import compile_python
from rvsim.ir.numpy.runtime import GuestTrap
from rvsim.ir.program import Program
from rvsim.ir.trace import Trace

VLEN = 256
FIELDS = {"rd": 5, "rs1": 6, "rs2": 7, "rs3": 28, "vd": 0, "vs1": 8, "vs2": 16, "vs3": 24}
FAULT_CAUSE = {"load": 13, "store": 15}
Number = int | list[int]


@dataclass(frozen=True)
class Trapped:
    """How a body ended, if it didn't retire."""

    cause: int
    tval: int
    why: str | None = None


def traced(body: Callable[[], None]) -> Program:
    with Trace() as trace:
        body()
    return trace.finish()


def pack(values: Sequence[int], width: int) -> int:
    return sum(v << i * width for i, v in enumerate(values))


def unpack(word: int, n: int, width: int) -> list[int]:
    return [word >> i * width & (1 << width) - 1 for i in range(n)]


def operand(index: int, type_: Type) -> Value:
    """The value of argument `index`, read from the register where `Bench.set` leaves it."""
    if type_.lanes is None:
        return ir.trunc(ir.read_x(f"rs{index + 1}"), type_.width)
    if type_.is_mask:
        return ir.read_mask(f"vs{index + 1}", type_.lanes)
    return ir.read_v(f"vs{index + 1}", type_.lanes, type_.width)


def deliver(result: Value) -> None:
    """Leave a result in rd or from vd on."""
    if result.type.lanes is None:
        ir.write_x("rd", ir.zext(result, 64))
    elif result.type.is_mask and result.type.lanes % 8:
        ir.write_v("vd", ir.zext(result, 8))
    elif result.type.is_mask:
        ir.write_mask("vd", result)
    else:
        ir.write_v("vd", result)


class Bench:
    """One state and memory, and programs compiled for both back ends, all LLVM ones at once."""

    def __init__(
        self,
        programs: dict[str, Program],
        memory: Memory | None = None,
        host: Host | None = None,
    ) -> None:
        self.state = State(VLEN)
        self.memory = memory or Memory(1 << 16)
        self.programs = programs
        self.host = host
        self._names = namespace(self.state, self.memory)
        self._python: dict[str, Callable[..., None]] = {}

    @cached_property
    def _native(self) -> tuple[dict[str, NativeFunction], list[str]]:
        """The functions by name, and the texts that `trap_why` counts."""
        builder = ModuleBuilder(VLEN, host=self.host)
        for index, program in enumerate(self.programs.values()):
            builder.add(program, f"f{index}", fields=FIELDS)
        compiled = compile_module(builder.module)
        functions = {name: compiled.function(f"f{i}") for i, name in enumerate(self.programs)}
        return functions, builder.whys

    def set(self, values: Sequence[Number], types: Sequence[Type]) -> None:
        self.state.buffer[:] = 0
        for index, (value, type_) in enumerate(zip(values, types, strict=True)):
            if isinstance(value, int):
                self.state.x[FIELDS[f"rs{index + 1}"]] = value
            else:
                word = pack(value, type_.width)
                register = FIELDS[f"vs{index + 1}"]
                self.set_v(register, word.to_bytes(-(-len(value) * type_.width // 8), "little"))

    def set_v(self, register: int, content: bytes) -> None:
        start = register * self.state.vlenb
        self.state.vfile[start : start + len(content)] = memoryview(content)

    def get(self, type_: Type) -> Number:
        if type_.lanes is None:
            return self.state.x[FIELDS["rd"]]
        width = 8 if type_.is_mask and type_.lanes % 8 else type_.width
        word = int.from_bytes(
            self.state.vfile[: FIELDS["vs1"] * self.state.vlenb].tobytes(), "little"
        )
        return unpack(word, type_.lanes, width)

    def run_python(self, name: str) -> Trapped | None:
        if name not in self._python:
            scope = dict(self._names)
            exec(compile_python(self.programs[name]), scope)
            self._python[name] = scope["insn"]
        fields = {p: FIELDS[p] for p in self.programs[name].params()}
        try:
            self._python[name](**fields)
        except GuestTrap as trap:
            return Trapped(trap.cause, trap.tval, trap.why)
        except GuestFault as fault:
            return Trapped(FAULT_CAUSE[fault.access], fault.addr, f"{fault.access} page fault")
        return None

    def run_native(self, name: str) -> Trapped | None:
        functions, whys = self._native
        state = self.state
        if not functions[name](state, self.memory):
            return None
        trap = Trapped(state["trap_cause_plus_1"] - 1, state["trap_tval"], whys[state["trap_why"]])
        for word in ("trap_cause_plus_1", "trap_tval", "trap_why"):
            state[word] = 0
        return trap

    @property
    def engines(self) -> dict[str, Callable[[str], Trapped | None]]:
        return {"numpy": self.run_python, "llvm": self.run_native}
