"""LLVM modules to linked native code for their hosts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm

from rvsim.host.processor import NATIVE, Host, find_host
from rvsim.ir.llvm.build import host_of
from rvsim.ir.llvm.engine import target_machine

_CODE_GENERATION: Final = 2
_PASSES: Final = (
    "sroa",
    "simplify_cfg",
    "instruction_combine",
    "simplify_cfg",
    "dead_code_elimination",
)
"""Registers into values, and what is plain.

LLVM's own pipelines take two to six times as long, and regions are slower for what they add, since
more values stay alive (docs/performance.md).  NewGVN ends the process on some regions (LLVM 22).
"""

_numbers: Final = itertools.count()


@dataclass(frozen=True, slots=True)
class Library:
    """Linked code: whoever keeps this object keeps the code at `address`, and the global `data`."""

    tracker: Any
    address: int
    data: int


@cache
def _linker() -> Any:
    """One for the process: each new one costs more than most objects do to link.

    It links code for any host that this processor can execute, and generates none.
    """
    return llvm.create_lljit_compiler(target_machine(find_host(NATIVE), _CODE_GENERATION))


@cache
def host_digest(host: Host) -> str:
    """A name for what runs the code and what generates it: processor, llvmlite and LLVM."""
    versions = llvmlite.__version__, llvm.llvm_version_info
    described = host.triple, host.cpu, host.attributes, *versions
    return sha256(repr(described).encode()).hexdigest()[:16]


def object_code(module: Any) -> bytes:
    """Verify, optimise and compile a module to an object file's bytes, for the module's host."""
    machine = target_machine(host_of(module), _CODE_GENERATION)
    parsed = llvm.parse_assembly(str(module))
    parsed.triple = machine.triple
    parsed.data_layout = str(machine.target_data)
    parsed.verify()
    passes = llvm.create_new_module_pass_manager()
    for name in _PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(parsed, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return bytes(machine.emit_object(parsed))


def link(code: bytes, name: str, data: str | None = None) -> Library:
    """Load an object file into this process, for the function and the global of these names."""
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    builder.export_symbol(name)
    if data is not None:
        builder.export_symbol(data)
    tracker = builder.link(_linker(), f"{name} {next(_numbers)}")  # a name can't be used twice
    return Library(tracker, tracker[name], 0 if data is None else tracker[data])
