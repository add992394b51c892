"""Write what follows from the instruction definitions: manifest, reference tables, README counts.

python tools/manifest.py           write the files
python tools/manifest.py --check   exit 1 and say what differs where a file is stale
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rvsim.errors import RvsimError
from rvsim.insn.decode import problems
from rvsim.insn.encoding import FieldCode
from rvsim.insn.isa import isa
from rvsim.insn.registry import Context, Insn, static_fields
from rvsim.ir.text import formula
from rvsim.profiles import extension_titles, make_config
from rvsim.vec.vtype import VType

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = ROOT / "isa" / "manifest.json"
REFERENCE = ROOT / "docs" / "reference" / "instructions.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- isa-counts -->", "<!-- /isa-counts -->"

# Formulas are those of one context: all registers apart, no mask, vstart 0, vl VLMAX.
CONFIG = make_config("generic-rv64gcv", vlen=256)
VTYPES = [VType.parse(text) for text in ("e32,m1", "e8,m1", "e16,m1", "e64,m1")]
OPERANDS = {"vd": 8, "vs3": 8, "vs2": 16, "vs1": 24, "vm": 1, "csr": 0x00A}
CSR_TRACED = "vxrm"
LONGEST_FORMULA = 200
"""Longer ones are left to the manifest, and the reference says in words what they do."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if stale")
    check = parser.parse_args().check
    records = manifest()
    texts = {MANIFEST: manifest_text(records), REFERENCE: reference_text(records)}
    try:
        texts[README] = readme_text(README.read_text("utf-8"), records)
    except RvsimError as error:
        print(f"error: {error}", file=sys.stderr)
    if check:
        print("\n".join(line for path, text in texts.items() for line in stale(path, text)))
        return int(README not in texts or any(stale(*item) for item in texts.items()))
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return int(README not in texts)


def stale(path: Path, text: str, tool: str = __file__) -> list[str]:
    """A summary of how a file differs from what a tool makes; empty when it does not."""
    old = path.read_text("utf-8") if path.exists() else ""
    if old == text:
        return []
    diff = list(difflib.unified_diff(old.splitlines(), text.splitlines(), "is", "should be", n=0))
    changed = [line for line in diff[2:] if line[0] in "+-"]
    more = [f"  … and {len(changed) - 20} more lines"] if len(changed) > 20 else []
    title = f"{path.relative_to(ROOT)} is stale, run: python tools/{Path(tool).name}"
    return [title, *(f"  {line}" for line in changed[:20]), *more]


# -- the manifest


def manifest() -> dict[str, dict[str, Any]]:
    """A record for each instruction, by name."""
    return {insn.name: record(insn) for insn in sorted(isa().insns, key=lambda insn: insn.name)}


def record(insn: Insn) -> dict[str, Any]:
    encoding = insn.encoding
    digits = 2 + 2 * insn.length
    entry: dict[str, Any] = {
        "operands": insn.syntax,
        "encoding": encoding.pattern,
        "mask": f"{encoding.mask:#0{digits}x}",
        "match": f"{encoding.match:#0{digits}x}",
        "length": insn.length,
        "extensions": list(insn.extensions),
        "unit": str(insn.unit),
        "spec": insn.spec,
    }
    optional = {
        "except": " ".join(f"{name}={value}" for name, value in encoding.excluded),
        "requires": list(insn.requires),
        "expands": insn.expands,
        "doc": " ".join(insn.doc.split()),
        "unsupported": insn.unsupported,
    }
    entry |= {name: value for name, value in optional.items() if value}
    return entry if insn.unsupported else entry | formula_entry(insn)


def formula_entry(insn: Insn) -> dict[str, str]:
    """The formula, and the vtype or CSR that it was traced with."""
    fields = {f.name: operand_value(f) for f in insn.encoding.fields}
    vtype = legal_vtype(insn, fields) if insn.vector or insn.vregs else None
    statics = dict(static_fields(insn, fields))
    program = insn.trace(Context(insn, CONFIG, statics, vtype, "full"))
    traced = {} if vtype is None else {"vtype": f"e{vtype.sew},m1"}
    if "csr" in statics:
        traced["csr"] = CSR_TRACED
    return {"formula": formula(program), **traced}


def operand_value(field: FieldCode) -> int:
    """A field value for the trace; immediates and registers are not 0, which would be special."""
    return OPERANDS.get(field.name, 9 if field.compact else field.step)


def legal_vtype(insn: Insn, fields: Mapping[str, int]) -> VType:
    """The first vtype under which the operands are legal."""
    for vtype in VTYPES:
        if not problems(insn, fields, vtype, CONFIG):
            return vtype
    raise RvsimError(f"no vtype of the manifest makes {insn.name} legal")


def manifest_text(records: Mapping[str, Mapping[str, Any]]) -> str:
    return json.dumps(records, indent=1, ensure_ascii=False) + "\n"


# -- tables


def by_extension(records: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Names of the instructions of each extension, both in the order of definition.

    An instruction that several extensions bring belongs to the first.
    """
    groups: dict[str, list[str]] = {}
    for insn in isa().insns:
        if insn.name in records:
            groups.setdefault(insn.extensions[0], []).append(insn.name)
    return groups


def reference_text(records: Mapping[str, Mapping[str, Any]]) -> str:
    """`docs/reference/instructions.md`."""
    titles = extension_titles()
    parts = [
        "# Instructions",
        "Generated by `tools/manifest.py` from the definitions; do not edit.",
        "A formula is what an instruction does unmasked with `vl` = VLMAX and `vstart` = 0 at"
        f" VLEN {CONFIG.vlen}; `i` is the element number. `isa/manifest.json` has every formula,"
        " encoding masks, and the vtype each was made for.",
    ]
    for extension, names in by_extension(records).items():
        parts.append(f"## {extension.capitalize()}: {titles[extension]}")
        rows = ["| instruction | encoding | unit | spec | what it does |", "|---|---|---|---|---|"]
        parts.append("\n".join(rows + [reference_row(name, records[name]) for name in names]))
    return "\n\n".join(parts) + "\n"


def reference_row(name: str, entry: Mapping[str, Any]) -> str:
    formula = entry.get("formula", "")
    shown = f"`{formula}`" if 0 < len(formula) <= LONGEST_FORMULA else ""
    text = " ".join(filter(None, (entry.get("doc"), shown)))
    if "unsupported" in entry:
        text = f"Refused: {entry['unsupported']}."
    instruction = f"{name} {entry['operands']}".strip()
    cells = (f"`{instruction}`", f"`{entry['encoding']}`", entry["unit"], entry["spec"], text)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def readme_text(readme: str, records: Mapping[str, Mapping[str, Any]]) -> str:
    """The README with the counts between its markers; RvsimError where it has none."""
    pattern = re.compile(f"({re.escape(BEGIN)}\n).*?({re.escape(END)})", re.DOTALL)
    if not pattern.search(readme):
        raise RvsimError(f"README.md needs the lines {BEGIN} and {END} around its status table")
    return pattern.sub(lambda m: f"{m[1]}{counts_table(records)}\n{m[2]}", readme)


def counts_table(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Instructions per extension, and those that are told apart only to be refused."""
    titles = extension_titles()
    rows = ["| extension | | instructions | recognised and refused |", "|---|---|--:|--:|"]
    total = all_refused = 0
    for extension, names in by_extension(records).items():
        refused = sum("unsupported" in records[name] for name in names)
        total, all_refused = total + len(names) - refused, all_refused + refused
        rows.append(
            f"| {extension.capitalize()} | {titles[extension]} | {len(names) - refused} |"
            f" {refused or ''} |"
        )
    return "\n".join([*rows, f"| all | | {total} | {all_refused} |"])


if __name__ == "__main__":
    sys.exit(main())
