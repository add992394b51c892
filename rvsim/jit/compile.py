"""LLVM modules to linked native code for this host."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import llvmlite.binding as llvm

from rvsim.ir.llvm_engine import target_machine

_OPT: Final = 2


@dataclass(frozen=True, slots=True)
class Library:
    """Linked code: whoever keeps this object keeps the code."""

    engine: Any
    tracker: Any
    address: int


@cache
def _machine() -> Any:
    return target_machine(_OPT)


def object_code(module: Any, machine: Any = None) -> bytes:
    """Verify, optimise and compile an llvmlite module to an object file's bytes.

    `machine` is the LLVM target machine, by default of this host.
    """
    machine = machine or _machine()
    parsed = llvm.parse_assembly(str(module))
    parsed.triple = machine.triple
    parsed.data_layout = str(machine.target_data)
    parsed.verify()
    # Guest loops are written as vectors already, and long chains make the vectorisers slow.
    options = llvm.create_pipeline_tuning_options(speed_level=_OPT)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(parsed, passes)
    return bytes(machine.emit_object(parsed))


def link(code: bytes, name: str) -> Library:
    """Load an object file into this process."""
    engine = llvm.create_lljit_compiler(_machine())
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    builder.export_symbol(name)
    tracker = builder.link(engine, name)
    return Library(engine, tracker, tracker[name])
