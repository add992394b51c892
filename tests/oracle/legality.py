"""Which vector encodings the specification reserves, decided register by register.

Written from V 5.2 (groups, overlaps), V 5.3 (masks), V 7 (memory), V 11 to V 16 (single classes),
Zvbc, Zvfh, Zvfbfmin, Zvfbfwma and the IME profile, all of them being there; imports nothing from
rvsim.  A register operand is the set of registers it touches; overlaps are intersections of sets.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tests.oracle.vector_config import is_supported
from tests.oracle.vector_shape import lmul_of, sew_of

ELEN = 64

# Names without their forms, by how wide their operands are.
WIDENING = re.compile(r"vw(add|sub|mul|macc|sll)|vfw")
MULTIPLY_ADD = re.compile(r"v(w?macc|nmsac|madd|nmsub)|vfw?n?m(acc|sac|add|sub)")
COMPARISON = re.compile(r"vms(eq|ne|lt|le|gt)|vmf|vm[as][bd]c")
REDUCTION = re.compile(r"vf?(w?)red\w+\.vs")
MEMORY = re.compile(r"v([ls])(s|ux|ox)?(?:seg(\d))?e(i?)(\d+)(?:ff)?\.v")
WHOLE_MEMORY = re.compile(r"v([ls])(\d)r(?:e\d+)?\.v")
WHOLE_MOVE = re.compile(r"vmv(\d)r\.v")
EXTENSION = re.compile(r"v[sz]ext\.vf(\d)")
CARRYLESS = re.compile(r"vclmulh?\.")
ELEMENT_GROUPS = re.compile(r"v(aes|sha2|sm[34]|ghsh|gmul)")
MATRIX = re.compile(r"smt\.vmadot(\d?)(u|us|su)?")


class Reserved(Exception):
    """The encoding breaks the rule that the message names."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A group (or one register holding a mask or a scalar) as source, destination or both."""

    first: int
    eew: int
    registers: frozenset[int]
    kind: str = "group"
    dest: bool = False
    source: bool = True
    fractional: bool = False


def group(first: int, eew: int, emul: Fraction, nfields: int = 1, **use: bool) -> Operand:
    """V 5.2, V 7.3, V 7.8: a group of EMUL registers for each field."""
    if not 8 <= eew <= ELEN:
        raise Reserved(f"EEW {eew}")
    if not Fraction(1, 8) <= emul <= 8:
        raise Reserved(f"EMUL {emul}")
    size = max(1, int(emul))
    if emul * nfields > 8 or size * nfields > 8:
        raise Reserved(f"{nfields} fields of EMUL {emul}")
    if first % size:
        raise Reserved(f"v{first} is not a multiple of {size}")
    last = first + size * nfields - 1
    if last > 31:
        raise Reserved(f"v{last} is past v31")
    registers = frozenset(range(first, last + 1))
    return Operand(first, eew, registers, fractional=emul < 1, **use)


def mask(first: int, **use: bool) -> Operand:
    """V 5.2: mask elements have EEW 1; one register, whatever LMUL is."""
    return Operand(first, 1, frozenset({first}), "mask", **use)


def scalar(first: int, eew: int, **use: bool) -> Operand:
    """V 5.1: element 0 of any one register."""
    if eew > ELEN:
        raise Reserved(f"EEW {eew}")
    return Operand(first, eew, frozenset({first}), "scalar", **use)


def whole(first: int, nregisters: int, **use: bool) -> Operand:
    """V 7.9, V 16.6"""
    if first % nregisters:
        raise Reserved(f"v{first} is not a multiple of {nregisters}")
    return Operand(first, 8, frozenset(range(first, first + nregisters)), "whole", **use)


RESULT = {"dest": True, "source": False}


def check_element_groups(
    name: str, fields: Mapping[str, int], sew: int, lmul: Fraction, vlen: int
) -> None:
    """Zvk, instruction constraints: SEW, room for an element group, sources apart from vd."""
    if sew != 32 and not (name.startswith("vsha2") and sew == 64):
        raise Reserved(f"SEW {sew}")
    if lmul * vlen < sew * (8 if name.startswith("vsm3") else 4):
        raise Reserved("no room for an element group")
    one_key = name.endswith(".vs")
    vd = group(fields["vd"], sew, lmul, dest=True)
    vs2 = scalar(fields["vs2"], sew) if one_key else group(fields["vs2"], sew, lmul)
    apart = vs2.registers if one_key or name.startswith(("vsm3", "vsha2")) else frozenset()
    if "vs1" in fields:
        vs1 = group(fields["vs1"], sew, lmul)
        apart |= vs1.registers if name.startswith("vsha2") else frozenset()
    if apart & vd.registers:
        raise Reserved("vd overlaps a source")


def memory_operands(
    found: re.Match[str], fields: Mapping[str, int], sew: int, lmul: Fraction
) -> Iterator[Operand]:
    letter, _, nfields, index, eew_text = found.groups()
    width, n = int(eew_text), int(nfields or 1)
    eew, emul = (sew, lmul) if index else (width, lmul * width / sew)
    if letter == "l":
        yield group(fields["vd"], eew, emul, n, **RESULT)
    else:
        yield group(fields["vs3"], eew, emul, n)
    if index:
        yield group(fields["vs2"], width, lmul * width / sew)


def arithmetic_operands(
    name: str, fields: Mapping[str, int], sew: int, lmul: Fraction
) -> Iterator[Operand]:
    """V 11, V 12, V 16.3, V 16.4: vd, vs2 and perhaps vs1, as name and form say."""
    base, form = name.split(".")[0], name.split(".")[-1]
    accumulates = bool(MULTIPLY_ADD.match(base))
    if COMPARISON.match(base):
        yield mask(fields["vd"], **RESULT)
    elif WIDENING.match(base):
        yield group(fields["vd"], 2 * sew, 2 * lmul, dest=True, source=accumulates)
    else:
        yield group(fields["vd"], sew, lmul, dest=True, source=accumulates)
    if "vs2" in fields:
        double = form.startswith("w")
        yield group(fields["vs2"], 2 * sew if double else sew, 2 * lmul if double else lmul)
    if "vs1" in fields:
        index16 = base == "vrgatherei16"
        yield group(fields["vs1"], 16 if index16 else sew, lmul * 16 / sew if index16 else lmul)
    if form in ("vvm", "vxm", "vim", "vfm"):
        yield mask(0)


def operands(name: str, fields: Mapping[str, int], sew: int, lmul: Fraction) -> Iterator[Operand]:
    """The vector operands of an instruction other than the mask of a masked one."""
    if found := MEMORY.fullmatch(name):
        yield from memory_operands(found, fields, sew, lmul)
    elif found := WHOLE_MEMORY.fullmatch(name):
        load = found[1] == "l"
        yield whole(fields["vd" if load else "vs3"], int(found[2]), dest=load, source=not load)
    elif found := WHOLE_MOVE.fullmatch(name):
        yield whole(fields["vd"], int(found[1]), **RESULT)
        yield whole(fields["vs2"], int(found[1]))
    elif found := MATRIX.fullmatch(name):
        yield whole(fields["vd"], 2, dest=True)
        yield whole(fields["vs1"], 2 if found[1] else 1)
        yield whole(fields["vs2"], 1)
    elif found := EXTENSION.fullmatch(name):
        factor = int(found[1])
        yield group(fields["vd"], sew, lmul, **RESULT)
        yield group(fields["vs2"], sew // factor, lmul / factor)
    elif found := REDUCTION.fullmatch(name):
        eew = 2 * sew if found[1] else sew
        yield scalar(fields["vd"], eew, **RESULT)
        yield group(fields["vs2"], sew, lmul)
        yield scalar(fields["vs1"], eew)
    elif name == "vlm.v" or name.endswith(".mm") or name in ("vmsbf.m", "vmsif.m", "vmsof.m"):
        yield mask(fields["vd"], **RESULT)
        yield from (mask(fields[f]) for f in ("vs2", "vs1") if f in fields)
    elif name == "vsm.v":
        yield mask(fields["vs3"])
    elif name in ("vcpop.m", "vfirst.m"):
        yield mask(fields["vs2"])
    elif name in ("viota.m", "vid.v"):
        yield group(fields["vd"], sew, lmul, **RESULT)
        yield from (mask(fields[f]) for f in ("vs2",) if f in fields)
    elif name == "vcompress.vm":
        yield group(fields["vd"], sew, lmul, **RESULT)
        yield group(fields["vs2"], sew, lmul)
        yield mask(fields["vs1"])
    elif name in ("vmv.x.s", "vfmv.f.s"):
        yield scalar(fields["vs2"], sew)
    elif name in ("vmv.s.x", "vfmv.s.f"):
        yield scalar(fields["vd"], sew, **RESULT)
    elif name.startswith(("vmv.v.", "vfmv.v.")):
        yield group(fields["vd"], sew, lmul, **RESULT)
        yield from (group(fields[f], sew, lmul) for f in ("vs1",) if f in fields)
    else:
        yield from arithmetic_operands(name, fields, sew, lmul)


NO_OVERLAP = re.compile(
    r"vslideup\.|vf?slide1up\.|vrgather|vcompress|viota|vms[bio]f\.m|smt\.|vl[uo]xseg"
)
"""V 16.3.1, 16.3.3, 16.4, 16.5, 15.8, 15.4 to 15.6, IME, 7.8: vd and the sources are disjoint."""

NOT_V0 = re.compile(r"v(adc|sbc|f?merge)\.")
"""V 11.4, V 11.15: instructions that take v0 as an operand and may not write it."""

MASKED_NOT_V0 = re.compile(r"vms[bio]f\.m")
"""V 15.4 to 15.6: though a mask is written, not the one that is in use."""


def float_widths(name: str, sew: int) -> set[int]:
    """V 10.1, V 13: the widths of the operands that hold floating-point numbers."""
    base, *kinds = name.split(".")
    if not base.startswith(("vf", "vmf")) or base == "vfirst":
        return set()
    narrows = re.match(r"vfn\w*cvt", base)
    source, dest = 2 * sew if narrows else sew, 2 * sew if base.startswith("vfw") else sew
    if "cvt" not in base:
        return {source, dest}
    to, origin = kinds[-3], kinds[-2]  # vfcvt.x.f.v, vfncvt.rtz.xu.f.w
    return ({source} if origin == "f" else set()) | ({dest} if to == "f" else set())


def check_floats(name: str, sew: int) -> None:
    """Floating-point elements have 16, 32 or 64 bits; bf16 ones are for SEW 16."""
    for width in float_widths(name, sew):
        if width not in (16, 32, 64):
            raise Reserved(f"{width}-bit floating point")
    if "bf16" in name and sew != 16:
        raise Reserved("bf16 has 16 bits")


def check_overlap(name: str, dest: Operand, source: Operand) -> None:
    """V 5.2: the three cases in which a destination may overlap a source."""
    if not dest.registers & source.registers:
        return
    if NO_OVERLAP.match(name):
        raise Reserved("the destination overlaps a source")
    if "scalar" in (dest.kind, source.kind) or "whole" in (dest.kind, source.kind):
        return  # V 14: a reduction's result may overlap any source
    if dest.eew == source.eew:
        return
    if dest.eew < source.eew:
        legal = min(dest.registers) == min(source.registers)
    else:
        legal = not source.fractional and max(dest.registers) == max(source.registers)
    if not legal:
        raise Reserved(f"destination EEW {dest.eew} overlaps source EEW {source.eew}")


def check(name: str, fields: Mapping[str, int], vtype: int, vlen: int) -> None:
    needs_vtype = not WHOLE_MEMORY.fullmatch(name)
    if needs_vtype and not is_supported(vtype):
        raise Reserved("vill")
    if not needs_vtype:
        vtype = 0
    sew, lmul = sew_of(vtype), lmul_of(vtype)
    if MATRIX.fullmatch(name) and (vlen, sew, lmul) != (256, 8, 1):
        raise Reserved("IME: VLEN 256, e8, m1")
    if CARRYLESS.match(name) and sew != 64:
        raise Reserved("Zvbc: SEW 64")
    check_floats(name, sew)
    if ELEMENT_GROUPS.match(name):
        check_element_groups(name, fields, sew, lmul, vlen)
        return
    found = list(operands(name, fields, sew, lmul))
    masked = fields.get("vm", 1) == 0
    sources = [o for o in found if o.source] + ([mask(0)] if masked else [])
    for dest in (o for o in found if o.dest):
        if NOT_V0.match(name) and 0 in dest.registers:
            raise Reserved("vd is v0")
        if masked and 0 in dest.registers:
            if dest.kind not in ("mask", "scalar"):
                raise Reserved("V 5.3: vd overlaps v0")
            if MASKED_NOT_V0.match(name):
                raise Reserved("vd is the mask in use")
        for source in (o for o in found if o.source and o is not dest):
            check_overlap(name, dest, source)
    for i, a in enumerate(sources):
        for b in sources[i + 1 :]:
            if "whole" not in (a.kind, b.kind) and a.eew != b.eew and a.registers & b.registers:
                raise Reserved("V 5.2: one register is read with two EEWs")


def reserved(name: str, fields: Mapping[str, int], vtype: int, vlen: int = 256) -> str | None:
    """The rule that the encoding breaks under this vtype, or None for a legal one."""
    try:
        check(name, fields, vtype, vlen)
    except Reserved as rule:
        return str(rule)
    return None
