"""Which vector encodings are reserved, and why: the rules of V 3.4.2, 5.2 and 5.3.

General rules follow from the operands of an instruction (`rvsim.vec.groups`); the few that belong
to single classes are named `Rule`s that a definition lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rvsim.config import Config
from rvsim.vec.groups import V0, Group, VReg, resolve, widths
from rvsim.vec.vtype import VType, lmul_text


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an encoding breaks.  `allowable`: what it would do is plain all the same."""

    why: str
    spec: str
    allowable: bool = False

    def __str__(self) -> str:
        return f"{self.why} ({self.spec})"


@dataclass(frozen=True, slots=True)
class EncodedUse:
    """What rules look at."""

    fields: Mapping[str, int]
    vtype: VType
    config: Config
    groups: Mapping[str, Group]

    @property
    def masked(self) -> bool:
        return self.fields.get("vm", 1) == 0


Rule = Callable[[EncodedUse], Iterator[Violation]]


def violations(
    vregs: tuple[VReg, ...],
    rules: tuple[Rule, ...],
    fields: Mapping[str, int],
    vtype: VType,
    config: Config,
) -> list[Violation]:
    """All rules that the encoding breaks under this vtype, in the order a reader would check."""
    sizes = list(_sizes(vregs, vtype, config))
    if sizes:
        return sizes
    masked = fields.get("vm", 1) == 0
    groups = {v.field: resolve(v, fields, vtype) for v in (*vregs, *((V0,) if masked else ()))}
    situation = EncodedUse(fields, vtype, config, groups)
    found = [*_alignment(groups), *_mask_register(situation)]
    for rule in rules:
        found += rule(situation)
    if not found:
        found = [*_destination_overlap(groups), *_source_eews(situation)]
    return found


def _sizes(vregs: tuple[VReg, ...], vtype: VType, config: Config) -> Iterator[Violation]:
    for operand in vregs:
        if operand.eew.kind == "whole":
            continue
        eew_log2, emul_log2 = widths(operand.eew, vtype)
        if 1 << eew_log2 > config.elen:
            yield Violation(
                f"{operand.field} would have EEW {1 << eew_log2}, more than ELEN {config.elen}",
                "V 5.2",
            )
        elif operand.eew.kind != "mask" and eew_log2 < 3:
            yield Violation(
                f"{operand.field} would have EEW {1 << eew_log2}, less than 8", "V 11.3"
            )
        elif not -3 <= emul_log2 <= 3:
            yield Violation(
                f"{operand.field} would have EMUL = EEW {1 << eew_log2} / SEW {vtype.sew} * LMUL"
                f" {lmul_text(vtype.lmul_log2)} = {lmul_text(emul_log2)}, outside mf8 to m8",
                "V 5.2",
            )
        elif operand.nf << max(0, emul_log2) > 8:
            yield Violation(
                f"{operand.nf} fields of EMUL {lmul_text(emul_log2)} need more than 8 registers",
                "V 7.8",
            )


def _alignment(groups: Mapping[str, Group]) -> Iterator[Violation]:
    for field, group in groups.items():
        whole = group.operand.eew.kind == "whole"
        size = group.nregs if whole else 1 << max(0, group.emul_log2)
        if group.reg % size:
            what = f"{size} registers" if whole else f"EMUL {lmul_text(group.emul_log2)}"
            spec = "V 5.2" if not whole else "V 16.6" if len(groups) > 1 else "V 7.9"
            yield Violation(
                f"{field} v{group.reg} is not a multiple of {size}, the size of its group ({what})",
                spec,
            )
        elif group.reg + group.nregs > 32:
            yield Violation(f"{group.text()} runs past v31", "V 7.8")


def _mask_register(s: EncodedUse) -> Iterator[Violation]:
    """V 5.3: a masked instruction must not overwrite v0, but with a mask or a scalar."""
    for group in s.groups.values():
        if not (s.masked and group.operand.dest and 0 in group.registers):
            continue
        if group.operand.eew.kind not in ("mask", "scalar"):
            yield Violation("vd overlaps the mask register v0 of a masked instruction", "V 5.3")


def _destination_overlap(groups: Mapping[str, Group]) -> Iterator[Violation]:
    """V 5.2: a destination may overlap a source of another EEW only at one end of the group."""
    for dest in groups.values():
        for source in groups.values():
            if dest is source or not dest.operand.dest or not source.operand.source:
                continue
            if "whole" in (dest.operand.eew.kind, source.operand.eew.kind):
                continue
            if dest.overlaps(source) and not _may_overlap(dest, source):
                yield Violation(
                    f"destination {dest.text()} overlaps source {source.text()}: allowed only "
                    + _overlap_allowance(dest, source),
                    "V 5.2",
                )


def _element_bits_log2(group: Group) -> int:
    return 0 if group.operand.eew.kind == "mask" else group.eew_log2


def _may_overlap(dest: Group, source: Group) -> bool:
    d, s = _element_bits_log2(dest), _element_bits_log2(source)
    if d == s or source.operand.eew.kind == "scalar" or dest.operand.eew.kind == "scalar":
        return True
    if d < s:
        return dest.reg == source.reg
    return source.emul_log2 >= 0 and dest.reg + dest.nregs == source.reg + source.nregs


def _overlap_allowance(dest: Group, source: Group) -> str:
    if _element_bits_log2(dest) < _element_bits_log2(source):
        return "in the lowest register of the wider source"
    return "in the highest registers of the wider destination, from a source with EMUL >= 1"


def _source_eews(s: EncodedUse) -> Iterator[Violation]:
    """V 5.2: one register cannot be a source with two EEWs; a mask counts as EEW 1."""
    sources = [g for g in s.groups.values() if g.operand.source and g.operand.eew.kind != "whole"]
    for i, a in enumerate(sources):
        for b in sources[i + 1 :]:
            if a.overlaps(b) and _element_bits_log2(a) != _element_bits_log2(b):
                yield Violation(
                    f"sources {a.text()} and {b.text()} read one register with two EEWs",
                    "V 5.2",
                    allowable=True,
                )


# -- rules of single classes


def no_source_overlap(*fields: str, spec: str) -> Rule:
    """The destination may not overlap these sources at all (slides up, gathers, compress …)."""

    def rule(s: EncodedUse) -> Iterator[Violation]:
        dest = s.groups["vd"]
        for field in fields:
            source = s.groups[field]
            if dest.overlaps(source):
                yield Violation(f"destination {dest.text()} overlaps source {source.text()}", spec)
        if s.masked and 0 in dest.registers and dest.operand.eew.kind == "mask":
            yield Violation("vd overlaps the mask register v0", spec)

    return rule


def not_v0(spec: str) -> Rule:
    """The destination may not be v0, which the instruction reads as a carry or selector."""

    def rule(s: EncodedUse) -> Iterator[Violation]:
        if s.groups["vd"].reg == 0:
            yield Violation("vd is v0, which holds the carries or the selection", spec)

    return rule


def sew_is(*widths: int, spec: str) -> Rule:
    """SEW is one of these."""
    defined = " or ".join(map(str, widths))

    def rule(s: EncodedUse) -> Iterator[Violation]:
        if s.vtype.sew not in widths:
            yield Violation(f"SEW is {s.vtype.sew}, and the instruction needs {defined}", spec)

    rule.__doc__ = f"SEW is {defined}"
    return rule


def element_groups(size: int, spec: str) -> Rule:
    """A register group holds at least one element group: LMUL * VLEN >= EGS * SEW."""

    def rule(s: EncodedUse) -> Iterator[Violation]:
        vlmax = s.vtype.vlmax(s.config.vlen)
        if vlmax < size:
            yield Violation(
                f"an element group is {size} elements, and LMUL * VLEN holds {vlmax}", spec
            )

    rule.__doc__ = f"VLMAX, vl and vstart are multiples of {size}, an element group"
    return rule
