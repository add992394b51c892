"""The text of ``rvsim explain``."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

from rvsim.config import Config
from rvsim.errors import RvsimError, did_you_mean
from rvsim.insn.decode import Decoded, problems, refusal
from rvsim.insn.disasm import assemble_text, disassemble
from rvsim.insn.isa import isa
from rvsim.insn.registry import Context, Insn, static_fields
from rvsim.ir.text import formula
from rvsim.vec.groups import V0, VReg, resolve, widths
from rvsim.vec.rules import Rule, Violation, violations
from rvsim.vec.vtype import VType, lmul_text

_SEWS: Final = (3, 4, 5, 6)
_LMULS: Final = (0, 1, 2, 3, -1, -2, -3)
_WIDTH: Final = 100
_LABEL: Final = 12
_DEFAULT: Final = VType(3, 0, vta=True, vma=True)
_APART: Final = {"vd": 8, "vs3": 8, "vs1": 16, "vs2": 24}
"""Register numbers that are legal at LMUL 1, for an instruction without operands."""


def explain_word(d: Decoded, config: Config, vtype: VType | None) -> Iterator[str]:
    """Lines about an instruction word: its definition, whether it is legal, and what it does."""
    word = f"{d.word:#0{2 + 2 * d.length}x}"
    insn = d.insn
    if insn is None:
        yield f"{word}  is no instruction that rvsim knows, under any CPU profile"
        return
    placeless = assemble_text(d)  # branch targets as offsets
    yield f"{word}  {disassemble(d) if placeless.startswith('.') else placeless}"
    yield from _definition(insn)
    yield from _part("fields", ", ".join(f"{k} = {v}" for k, v in d.fields.items()))
    if insn.vregs or insn.vector:
        legal = _legal_vtypes(insn, d.fields, config)
        assumed = vtype or next(iter(legal), _DEFAULT)
        yield from _vtype_parts(insn, d.fields, config, assumed, given=vtype is not None)
        if insn.vector:
            yield from _part("legal vtypes", _vtypes_text(legal))
    else:
        assumed = vtype or _DEFAULT
    found = problems(insn, d.fields, assumed, config)
    yield from _part("legal", _verdict(found, config))
    text = _formula(insn, d.fields, config, assumed)
    if text is not None:
        yield from _part("does", *text)


def explain_insn(name: str, config: Config, vtype: VType | None) -> Iterator[str]:
    """Lines about the instruction with this mnemonic."""
    insn = isa().by_name.get(name.lower())
    if insn is None:
        raise RvsimError(f"{name!r} is neither a word nor a mnemonic", hint=_near(name.lower()))
    yield f"{insn.name} {insn.syntax.replace(', vm', '[, v0.t]')}".rstrip()
    yield from _definition(insn)
    if not insn.is_in(config) or insn.unsupported:
        yield from _part("legal", _verdict(problems(insn, {}, vtype, config), config))
    fields = {code.name: _APART.get(code.name, 1) for code in insn.encoding.fields}
    text = _formula(insn, fields, config, vtype or _fitting(insn, fields, config), names=True)
    if text is not None:
        yield from _part("does", *text)


def _near(name: str) -> str:
    known = list(isa().by_name)
    forms = [n for n in known if n.startswith(f"{name}.")]
    if forms:
        return f"its forms are {', '.join(forms)}"
    return did_you_mean(name, known, most=3, otherwise="words are hex, as 0x32440257")


def _definition(insn: Insn) -> Iterator[str]:
    if insn.doc:
        yield from _part("about", " ".join(insn.doc.split()))
    extensions = " or ".join(name.capitalize() for name in insn.extensions)
    if insn.requires:
        extensions += f", with {' and '.join(name.capitalize() for name in insn.requires)}"
    yield from _part("extension", extensions)
    yield from _part("spec", insn.spec)
    yield from _part("class", insn.unit.value)
    yield from _part("encoding", insn.encoding.pattern)
    if insn.expands:
        yield from _part("short for", insn.expands)


def _part(label: str, *lines: str) -> Iterator[str]:
    """Lines after a label; long lines are folded."""
    for line in "\n".join(lines).splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        for piece in textwrap.wrap(line, _WIDTH - _LABEL - 4, subsequent_indent=indent) or [""]:
            yield f"  {label:<{_LABEL}}  {piece}".rstrip()
            label = ""


# -- under a vtype


def _vtype_parts(
    insn: Insn, fields: Mapping[str, int], config: Config, vtype: VType, *, given: bool
) -> Iterator[str]:
    if insn.vector:
        source = "" if given else " (assumed; choose with --vtype)"
        vlmax = f"VLEN {config.vlen}, VLMAX {vtype.vlmax(config.vlen)}"
        yield from _part("under", f"vtype {vtype}{source}, {vlmax}")
    operands = [*insn.vregs, *((V0,) if fields.get("vm", 1) == 0 else ())]
    yield from _part("groups", *(_group_text(v, fields, vtype) for v in operands))
    yield from _part("rules", *_rules(insn, fields, vtype))


def _group_text(operand: VReg, fields: Mapping[str, int], vtype: VType) -> str:
    text = resolve(operand, fields, vtype).text()
    sew, lmul = vtype.sew, lmul_text(vtype.lmul_log2)
    eew_log2, emul_log2 = widths(operand.eew, vtype)
    kind, value = operand.eew.kind, operand.eew.value
    use = {(True, True): "read and written", (True, False): "written"}.get(
        (operand.dest, operand.source), "read"
    )
    if kind == "eew" or (kind == "sew" and value):
        eew, emul = 1 << eew_log2 if eew_log2 >= 0 else "below 1", lmul_text(emul_log2)
        text += f", EMUL = EEW {eew} / SEW {sew} * LMUL {lmul} = {emul}"
    return f"{text}, {use}"


def _rules(insn: Insn, fields: Mapping[str, int], vtype: VType) -> Iterator[str]:
    """The rules for the encoding: those of the operands, then the instruction's own."""
    for operand in insn.vregs:
        yield from _operand_rules(operand, vtype)
    groups = [v for v in insn.vregs if v.eew.kind not in ("whole", "group")]
    dest = next((v for v in groups if v.dest), None)
    if dest is not None and fields.get("vm", 1) == 0 and dest.eew.kind not in ("mask", "scalar"):
        yield "vd is not v0, which holds the mask (V 5.3)"
    if dest is not None and any(v.source and v.eew != dest.eew for v in groups):
        yield "vd overlaps a source of another EEW only at the end that V 5.2 allows"
    if len({v.eew for v in groups if v.source}) > 1:
        yield "no register is read with two EEWs (V 5.2)"
    for rule in insn.rules:
        yield _rule_text(rule, insn)


def _operand_rules(operand: VReg, vtype: VType) -> Iterator[str]:
    field, kind, value = operand.field, operand.eew.kind, operand.eew.value
    _, emul_log2 = widths(operand.eew, vtype)
    size = value if kind == "whole" else 1 << max(0, emul_log2)
    if kind in ("sew", "eew", "whole") and size > 1:
        spec = "V 7.9" if kind == "whole" else "V 5.2"
        yield f"{field} is a multiple of {size}, the size of its group ({spec})"
    if kind == "eew" or (kind == "sew" and value):
        yield f"EMUL of {field} lies from mf8 to m8 (V 5.2)"
    if operand.nf > 1:
        yield f"{field}: fields times EMUL is at most 8 registers (V 7.8)"


def _rule_text(rule: Rule, insn: Insn) -> str:
    """The first sentence of the docstring of a rule or its maker, with the fields it applies to."""
    maker = rule.__qualname__.partition(".")[0]
    doc = rule.__doc__ or getattr(sys.modules[rule.__module__], maker).__doc__ or ""
    text = doc.strip().partition("\n")[0].partition(" (")[0].rstrip(".")
    text = text or maker.strip("_").replace("_", " ")
    made_for = inspect.getclosurevars(rule).nonlocals
    fields = ", ".join(made_for.get("fields", ()))
    return f"{text}{fields and f': {fields}'} ({made_for.get('spec', insn.spec)})"


def _legal_vtypes(insn: Insn, fields: Mapping[str, int], config: Config) -> list[VType]:
    """The vtypes under which it executes, the plainest first; policies don't matter."""
    candidates = [VType(sew, lmul, True, True) for lmul in _LMULS for sew in _SEWS]
    return [
        v
        for v in candidates
        if v.supported(config.elen) and refusal(problems(insn, fields, v, config), config) is None
    ]


def _fitting(insn: Insn, fields: Mapping[str, int], config: Config) -> VType:
    """The plainest vtype that the operands allow, whatever the profile's extensions."""
    for vtype in (VType(sew, lmul, True, True) for lmul in (0, 1) for sew in _SEWS):
        if not violations(insn.vregs, insn.rules, fields, vtype, config):
            return vtype
    return _DEFAULT


def _vtypes_text(legal: list[VType]) -> str:
    """``e8: mf8-m8; e16: mf4-m4``"""
    parts = []
    for sew_log2 in _SEWS:
        lmuls = sorted(v.lmul_log2 for v in legal if v.sew_log2 == sew_log2)
        if lmuls and lmuls == list(range(lmuls[0], lmuls[-1] + 1)) and len(lmuls) > 1:
            parts.append(f"e{1 << sew_log2}: {lmul_text(lmuls[0])} to {lmul_text(lmuls[-1])}")
        elif lmuls:
            parts.append(f"e{1 << sew_log2}: {', '.join(map(lmul_text, lmuls))}")
    return "; ".join(parts) or "none"


def _verdict(found: list[Violation], config: Config) -> str:
    if not found:
        return "yes"
    refused = refusal(found, config)
    if refused is None:
        return f"reserved, allowed by --reserved allow: {found[0]}"
    allowed = all(violation.allowable for violation in found)
    return f"no: {refused}" + ("; --reserved allow executes it" if allowed else "")


def _formula(
    insn: Insn, fields: Mapping[str, int], config: Config, vtype: VType, *, names: bool = False
) -> list[str] | None:
    """Its statements at vl = VLMAX; None if it can't execute."""
    broken = violations(insn.vregs, insn.rules, fields, vtype, config)
    found = broken if names and insn.unsupported is None else problems(insn, fields, vtype, config)
    if refusal(found, config) is not None:
        return None
    context = Context(insn, config, dict(static_fields(insn, fields)), vtype, "full")
    program = insn.trace(context)
    shown = formula(program, fields=None if names else fields, separator="\n")
    return [*map(_indented, shown.splitlines())] or ["changes nothing"]


def _indented(statement: str) -> str:
    """Put blocks in braces on separate lines; braces in quoted text stay."""
    depth = 0
    lines = [""]
    for token in re.findall(r'"[^"]*"|\{ |; | ?\}|[^"{;} ]+| ', statement):
        if token == "{ ":
            lines[-1] += "{"
            depth += 1
        elif token.strip() == "}":
            depth -= 1
            lines.append("  " * depth + "}")
            continue
        elif token != "; ":
            lines[-1] += token
            continue
        lines.append("  " * depth)
    return "\n".join(line for line in lines if line.strip())
