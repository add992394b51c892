"""Binding: from a decoded instruction to a Python call that executes it.

An instruction is traced and generated once for its static fields and a mode; a call is the
generated function with the values of its operand fields.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

from rvsim.config import Config
from rvsim.engine.block import NO_MODE, Call, Mode
from rvsim.hart.lanes import LaneAccess
from rvsim.hart.memory import GuestFault, Memory
from rvsim.hart.state import State
from rvsim.hart.traps import Cause
from rvsim.hart.words import WORD_MASK
from rvsim.insn.base import csrs
from rvsim.insn.base.units_off import unit_off
from rvsim.insn.decode import Decoded, problems, refusal
from rvsim.insn.registry import Context, Insn, Statics, static_fields, zero_operands
from rvsim.insn.units import Unit
from rvsim.ir import Program
from rvsim.ir.accesses import noting_access
from rvsim.ir.numpy.backend import compile_python
from rvsim.ir.numpy.host import host_operation
from rvsim.ir.numpy.runtime import NAMESPACE, GuestTrap

if TYPE_CHECKING:
    from rvsim.cost.model import CostModel
    from rvsim.cost.ring import Ring

_CHANGES_FLOW: Final = frozenset({"pc", "vl", "vtype"})
_CHANGES_MODE: Final = frozenset({"vl", "vtype", "vstart", "units_off"})
_ENDS_BLOCK: Final = frozenset({Unit.CSR, Unit.SYSTEM, Unit.FENCE, Unit.VSET})
_COUNTERS: Final = frozenset({"instret", "cycle"})
CYCLE_NOTE: Final = "cycle and time count instructions: there is no cost model, cycle = instret"


@dataclass(frozen=True, slots=True)
class Effects:
    """What an instruction means for the block that it is in."""

    ends_block: bool
    changes_mode: bool = False
    reads_counters: bool = False
    reads_cycle: bool = False


_REFUSED: Final = Effects(ends_block=True)


@dataclass(frozen=True, slots=True)
class Generated:
    """Code that defines a function `insn` of `params`."""

    code: CodeType
    params: tuple[str, ...]
    effects: Effects


@dataclass(frozen=True, slots=True)
class Compiled:
    """Generated code as a function on one machine."""

    function: Callable[..., None]
    generated: Generated

    @property
    def params(self) -> tuple[str, ...]:
        return self.generated.params


def namespace(state: State, memory: Memory) -> dict[str, Any]:
    """Globals for generated code: one hart's state and memory, and the runtime."""
    lanes = LaneAccess(memory)
    names: dict[str, Any] = {
        **NAMESPACE,
        "host_operation": host_operation,
        "s": state.words,
        "load_run": lanes.load_run,
        "load_at": lanes.load_at,
        "store_run": lanes.store_run,
        "store_at": lanes.store_at,
    }
    for width in (8, 16, 32, 64):
        names[f"v{width}"] = state.vfile.view(f"u{width // 8}")
        names[f"vl{width}"] = state.vlen // width
        names[f"load{width // 8}"] = getattr(memory, f"load{width // 8}")
        names[f"store{width // 8}"] = getattr(memory, f"store{width // 8}")
    return names


@functools.lru_cache(maxsize=8192)
def _program(insn: Insn, statics: Statics, config: Config, mode: Mode, recorded: bool) -> Program:
    program = insn.trace(Context(insn, config, dict(statics), mode.vtype, mode.elements))
    return noting_access(program) if recorded else program


@functools.lru_cache(maxsize=8192)
def _generated(
    insn: Insn,
    statics: Statics,
    config: Config,
    mode: Mode,
    *,
    events: bool,
    recorded: bool,
) -> Generated:
    program = _program(insn, statics, config, mode, recorded)
    source = compile_python(
        program, zero=zero_operands(statics), events=events, host=config.host_float
    )
    reads, writes = program.reads(), program.writes()
    changes_flow = not writes.isdisjoint(_CHANGES_FLOW)
    effects = Effects(
        ends_block=changes_flow or insn.unit in _ENDS_BLOCK or mode.elements == "vstart",
        changes_mode=mode.elements == "vstart" or not writes.isdisjoint(_CHANGES_MODE),
        reads_counters=not reads.isdisjoint(_COUNTERS),
        reads_cycle="cycle" in reads,
    )
    return Generated(compile(source, f"<{insn.name}>", "exec"), program.params(), effects)


class Binder:
    """Binds instructions to the state and memory of one hart.

    `names` are the globals of generated code.  With `logs` it logs register writes
    (`compile_python`).  A `cost` model accounts for each instruction before it executes, and for
    traps too; where there is a `ring`, each leaves a record there.  `note` receives one line for
    each place with a reserved use that is carried on with.
    """

    def __init__(
        self,
        config: Config,
        names: dict[str, Any],
        *,
        note: Callable[[int, str], None],
        logs: bool,
        cost: CostModel | None,
    ) -> None:
        self.config = config
        self.note = note
        self.cost = cost
        self.ring: Ring | None = None
        self._logs = logs
        self._names = names
        self._functions: dict[tuple[Any, ...], Compiled] = {}
        self._remarks: set[str] = set() if cost is None else {CYCLE_NOTE}
        """Remarks on the counters that were made, or need not be."""

    @property
    def functions(self) -> int:
        """How many generated functions it keeps."""
        return len(self._functions)

    def forget(self) -> None:
        """Keep none of them."""
        self._functions.clear()

    def bind(self, d: Decoded, mode: Mode) -> tuple[Call, Effects]:
        """The call that executes an instruction, accounts for it and leaves its record."""
        call, effects = self.bind_alone(d, mode)
        if self.ring is not None and self.cost is not None:
            call = _recorded(self.ring, self.cost.site(d.pc), call, d.word)
        return call, effects

    def bind_alone(self, d: Decoded, mode: Mode, *, timed: bool = True) -> tuple[Call, Effects]:
        """The call without a record; if not `timed`, without accounting as well."""
        if d.insn is None:
            return _illegal(_no_instruction(d)), _REFUSED
        if mode.off:
            off = unit_off(d.insn, d.fields, mode.off)
            if off is not None:
                return _illegal(off), _REFUSED
            mode = replace(mode, off=0)
        found = problems(d.insn, d.fields, mode.vtype, self.config)
        refused = refusal(found, self.config)
        if refused is not None:
            return _illegal(str(refused)), _REFUSED
        for violation in found:
            self.note(d.pc, str(violation))
        compiled = self.compiled(d.insn, d.fields, mode)
        effects = compiled.generated.effects
        self._remark_counters(d, effects)
        arguments = [(d.pc if p == "pc" else d.fields[p]) & WORD_MASK for p in compiled.params]
        call: Call = functools.partial(compiled.function, *arguments)
        if timed and self.cost is not None:
            call = self._timed(self.cost, call, d, mode)
        return call, effects

    def _remark_counters(self, d: Decoded, effects: Effects) -> None:
        if effects.reads_cycle:
            self._remark(d.pc, CYCLE_NOTE)
        if "csr" in d.fields:
            self._remark(d.pc, csrs.note(self.config, d.fields["csr"]))

    def _remark(self, pc: int, text: str | None) -> None:
        """Remark on the counters, once a run."""
        if text is not None and text not in self._remarks:
            self._remarks.add(text)
            self.note(pc, text)

    def _timed(self, cost: CostModel, call: Call, d: Decoded, mode: Mode) -> Call:
        """The call, after its cost has been accounted for."""
        assert d.insn is not None
        context = self.context(d.insn, d.fields, mode)
        program = self.program(d.insn, d.fields, mode)
        account = cost.bind(context, d.fields, d.pc, program, self._names)
        if account is None:
            return call

        def timed() -> None:
            account()
            call()

        return timed

    def compiled(self, insn: Insn, fields: Mapping[str, int], mode: Mode) -> Compiled:
        """The generated function of an instruction, made once for its static fields and mode."""
        statics = static_fields(insn, fields)
        mode = mode if insn.vregs or insn.vector else NO_MODE
        key = (insn.name, statics, mode)
        found = self._functions.get(key)
        if found is None:
            generated = _generated(
                insn,
                statics,
                self.config,
                mode,
                events=self._logs,
                recorded=self.ring is not None,
            )
            exec(generated.code, self._names)
            found = self._functions[key] = Compiled(self._names.pop("insn"), generated)
        return found

    def program(self, insn: Insn, fields: Mapping[str, int], mode: Mode) -> Program:
        """The program of an instruction for its static fields and a mode."""
        mode = mode if insn.vregs or insn.vector else NO_MODE
        statics = static_fields(insn, fields)
        return _program(insn, statics, self.config, mode, self.ring is not None)

    def context(self, insn: Insn, fields: Mapping[str, int], mode: Mode) -> Context:
        """What the program of an instruction is specialised on."""
        statics = dict(static_fields(insn, fields))
        return Context(insn, self.config, statics, mode.vtype, mode.elements)

    def timing(self, d: Decoded, mode: Mode) -> tuple[Program | None, Mapping[str, int]]:
        """The cost program of an instruction, if there is any, and what programs know of it."""
        assert d.insn is not None
        if self.cost is None:
            return None, {**d.fields, "pc": d.pc}
        context = self.context(d.insn, d.fields, mode)
        timed = self.cost.program(context, self.program(d.insn, d.fields, mode))
        return timed, self.cost.fields(context, d.fields, d.pc)


def _illegal(why: str) -> Call:
    def refuse() -> None:
        raise GuestTrap(Cause.ILLEGAL_INSTRUCTION, 0, why)

    return refuse


def _recorded(ring: Ring, site: int, call: Call, word: int) -> Call:
    """The call, followed by a record of it."""

    def recorded() -> None:
        ring.clear()
        try:
            call()
        except (GuestTrap, GuestFault):
            ring.add(site, word, trapped=True)
            raise
        ring.add(site, word)

    return recorded


def _no_instruction(d: Decoded) -> str:
    if d.length == 2 and d.word & 0x1F == 0x1F:
        return "an encoding of more than 32 bits"
    return f"no instruction has the encoding {d.word:#0{2 + 2 * d.length}x}"
