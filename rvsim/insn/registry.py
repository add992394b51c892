"""The instruction registry: one `Insn` for each instruction, written once.

Definition files call `insn`, `compressed` (here) or the vector row makers
(`rvsim.insn.vector.forms`) at import; `rvsim.insn.isa.isa` has the frozen result that every reader
uses.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from rvsim import ir
from rvsim.config import Config
from rvsim.hart.traps import Cause
from rvsim.insn.encoding import Encoding
from rvsim.insn.notes import NOTES, VSTART_PAST_ELEMENTS
from rvsim.insn.units import Unit
from rvsim.ir import Program, Trace, Value
from rvsim.vec.groups import VReg
from rvsim.vec.rules import Rule
from rvsim.vec.shapes import Known
from rvsim.vec.vtype import VType

Alias = str | int

Statics = tuple[tuple[str, int], ...]
"""What a trace of an instruction is specialised on, by name (`static_fields`)."""

_IS_ZERO: Final = "=0"
"""After the name of an operand: whether that is x0, or 0."""


@dataclass(frozen=True, slots=True)
class Context:
    """What is constant in one trace: the instruction, its static fields, vtype, configuration.

    `elements` says what is known of vl and vstart: ``full`` (vstart = 0, vl = VLMAX), ``vl``
    (vstart = 0) or ``vstart`` (nothing).
    """

    insn: Insn
    config: Config
    statics: Mapping[str, int]
    vtype: VType | None = None
    elements: Known = "vstart"

    @property
    def v(self) -> VType:
        """The vtype; vector bodies run only where there is one."""
        assert self.vtype is not None, f"{self.insn.name} was traced without a vtype"
        return self.vtype

    @property
    def vlmax(self) -> int:
        return self.v.vlmax(self.config.vlen)

    @property
    def masked(self) -> bool:
        return self.statics.get("vm", 1) == 0

    def is_zero(self, operand: str) -> bool:
        """Whether an operand of `Insn.zeros`, or rd, is x0 or the immediate 0."""
        return bool(self.statics.get(operand + _IS_ZERO))


@dataclass(frozen=True, slots=True)
class Insn:
    """One instruction: name, encoding, assembly operands, class, and its body.

    * `syntax`: operands as assembly writes them, ``rd, imm(rs1)``; `vm` is an optional ``, v0.t``,
      `exact_rm` a mode that is written only if it is not rne, since the result is exact.
    * `extensions`: any one of them in a profile makes it legal, if those it `requires` are there.
    * `semantics`: runs the body under a trace.
    * `statics`: fields whose value a trace is specialised on; `zeros`: fields of which only
      "is it x0" matters (``rd`` always).
    * `alias`: where an operand of the body comes from, when not from the field of that name
      (compressed forms).
    * `vregs`, `rules`: vector operands and the legality rules beyond the general ones.
    * `vector`: needs a legal vtype.  `unsupported`: told apart, and always refused with this text.
    """

    name: str
    encoding: Encoding
    syntax: str
    extensions: tuple[str, ...]
    unit: Unit
    spec: str
    semantics: Callable[[Context], None]
    doc: str = ""
    requires: tuple[str, ...] = ()
    statics: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()
    alias: tuple[tuple[str, Alias], ...] = ()
    expands: str | None = None
    vregs: tuple[VReg, ...] = ()
    rules: tuple[Rule, ...] = ()
    vector: bool = False
    unsupported: str | None = None

    @property
    def length(self) -> int:
        """Bytes."""
        return self.encoding.length

    def is_in(self, config: Config) -> bool:
        """Whether the profile has the instruction."""
        return config.has(self.extensions) and config.extensions.issuperset(self.requires)

    def mnemonic(self, fields: Mapping[str, int]) -> str:
        """The name as assembly writes it: atomics carry their ordering as a suffix (A 1)."""
        suffix = "aq" * fields.get("aq", 0) + "rl" * fields.get("rl", 0)
        return f"{self.name}.{suffix}" if suffix else self.name

    def source(self, operand: str) -> Alias:
        """The field, or the constant, that an operand of the body stands for."""
        return dict(self.alias).get(operand, operand)

    def trace(self, context: Context) -> Program:
        """The program of this instruction under one context."""
        with Trace() as trace:
            self._run(context)
        return trace.finish()

    def _run(self, context: Context) -> None:
        """The body, and around it the rule that vstart is the number of an element (V 3.7)."""
        if context.elements != "vstart" or not self._counts_elements:
            self.semantics(context)
            return
        past = ~ir.lt_u(ir.read("vstart"), context.vlmax)
        if context.config.reserved == "trap":
            with ir.when(past):
                ir.trap(Cause.ILLEGAL_INSTRUCTION, NOTES[VSTART_PAST_ELEMENTS])
        self.semantics(context)
        if context.config.reserved == "allow":
            with ir.when(past):
                ir.write("note", VSTART_PAST_ELEMENTS)

    @property
    def _counts_elements(self) -> bool:
        """Whether its elements are those of vtype; whole registers have others (V 7.9, 16.6)."""
        return self.vector and any(v.eew.kind != "whole" for v in self.vregs)


def static_fields(insn: Insn, fields: Mapping[str, int]) -> Statics:
    """The fields, and the x0-ness of registers, that a trace of the instruction depends on."""
    statics = [(name, fields[name]) for name in insn.statics]
    for operand in {"rd", *insn.zeros}:
        source = insn.source(operand)
        value = source if isinstance(source, int) else fields.get(source)
        if value is not None:
            statics.append((operand + _IS_ZERO, int(value == 0)))
    return tuple(sorted(statics))


def zero_operands(statics: Statics) -> frozenset[str]:
    """The operands that are x0, or 0."""
    return frozenset(
        name.removesuffix(_IS_ZERO) for name, set_ in statics if name.endswith(_IS_ZERO) and set_
    )


_definitions: dict[str, Insn] = {}


def define(insn: Insn) -> Insn:
    """Add a definition; a second one of the same name is an error."""
    if insn.name in _definitions:
        raise ImportError(f"{insn.name} is defined twice")
    _definitions[insn.name] = insn
    return insn


def definitions() -> tuple[Insn, ...]:
    """All instructions defined so far, in order of definition."""
    return tuple(_definitions.values())


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_REGISTERS = frozenset({"rd", "rs1", "rs2", "rs3"})


def operand(ctx: Context, name: str) -> Value:
    """The value a body sees under a parameter name: a register's contents or a field."""
    source = ctx.insn.source(name)
    if name in _REGISTERS and source != 0:
        return ir.read_x(source)
    if isinstance(source, int):
        return ir.const(source, 64)
    return ir.param(source)


def scalar_semantics(body: Callable[..., Value | None]) -> Callable[[Context], None]:
    """Runs a scalar body: its parameters are operands by name, its result goes to rd.

    ``ctx`` as a parameter is the `Context`, ``pc`` the address of the instruction.  A result
    narrower than 64 bits is zero-extended.
    """
    parameters = tuple(inspect.signature(body).parameters)

    def run(ctx: Context) -> None:
        arguments = [ctx if p == "ctx" else operand(ctx, p) for p in parameters]
        result = body(*arguments)
        if result is not None:
            ir.write_x(ctx.insn.source("rd"), ir.zext(result, 64))

    return run


def insn(
    text: str,
    pattern: str,
    *,
    unit: Unit,
    ext: str,
    spec: str,
    statics: str = "",
    zeros: str = "",
    unless: str = "",
) -> Callable[[Callable[..., Value | None]], Callable[..., Value | None]]:
    """Define a scalar instruction by its assembly text, encoding pattern and body."""
    name, _, syntax = text.partition(" ")

    def decorate(body: Callable[..., Value | None]) -> Callable[..., Value | None]:
        define(
            Insn(
                name=name,
                encoding=Encoding.parse(pattern, unless),
                syntax=syntax.strip(),
                extensions=names(ext),
                unit=unit,
                spec=spec,
                semantics=scalar_semantics(body),
                doc=inspect.getdoc(body) or "",
                statics=names(statics),
                zeros=names(zeros),
            )
        )
        return body

    return decorate


def compressed(
    text: str,
    pattern: str,
    expands: str,
    *,
    ext: str,
    spec: str,
    unless: str = "",
    requires: str = "",
    **alias: Alias,
) -> None:
    """Define a compressed form of another instruction.

    `alias` gives the operands of the expansion that aren't fields of the same name: another
    field's name, or a constant (``rs1=2`` for sp, ``imm=0``).
    """
    name, _, syntax = text.partition(" ")
    base = _definitions[expands]
    define(
        replace(
            base,
            name=name,
            encoding=Encoding.parse(pattern, unless),
            syntax=syntax.strip(),
            extensions=names(ext),
            spec=spec,
            requires=names(requires),
            alias=tuple(alias.items()),
            expands=expands,
        )
    )
