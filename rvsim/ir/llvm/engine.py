"""Native code for LLVM modules: verified, linked, and kept alive as long as it can be called.

Whoever holds the `NativeModule` object or one of its functions keeps the code; nothing else does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import llvmlite.binding as llvm

from rvsim.hart.memory import Memory
from rvsim.hart.state import State
from rvsim.host.processor import Host
from rvsim.ir.llvm.build import host_of

_SIGNATURE: Final = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_uint64)
NativeFunction = Callable[[State, Memory], int]


@cache
def _initialise(triple: str) -> None:
    """Once a process: LLVM's tables for its own architecture, or for all."""
    if triple == llvm.get_default_triple():
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()


@cache
def target_machine(host: Host, opt: int) -> Any:
    """Code generation for a host."""
    _initialise(host.triple)
    return llvm.Target.from_triple(host.triple).create_target_machine(
        cpu=host.cpu, features=host.attributes, opt=opt
    )


@dataclass(frozen=True, slots=True)
class NativeModule:
    """The functions of one module as native code; `library` owns it."""

    library: Any
    engine: Any

    def function(self, name: str) -> NativeFunction:
        """``f(state, memory)``: 0 retired, 1 trapped."""
        entry = _SIGNATURE(self.library[name])

        def call(state: State, memory: Memory) -> int:
            return int(
                entry(
                    state.buffer.ctypes.data,
                    memory.data_address,
                    memory.perm_address,
                    memory.size,
                )
            )

        call.__name__ = call.__qualname__ = name
        call.owner = self  # type: ignore[attr-defined]
        return call


def compile_module(module: Any, *, opt: int = 1, known: Collection[str] = ()) -> NativeModule:
    """Verify and compile a module for its host; `known` external functions may be called.

    Raises ValueError for a module that calls anything else: it would abort the process when it
    runs.  Symbols that the code generator itself brings in are checked by the linker.
    """
    machine = target_machine(host_of(module), opt)
    parsed = llvm.parse_assembly(str(module))
    parsed.triple = machine.triple
    parsed.data_layout = str(machine.target_data)
    parsed.verify()
    names = [f.name for f in parsed.functions if not f.is_declaration]
    unknown = {
        f.name
        for f in parsed.functions
        if f.is_declaration and not f.name.startswith("llvm.") and f.name not in known
    }
    if unknown:
        raise ValueError(f"undefined functions in the module: {', '.join(sorted(unknown))}")
    return _link(machine, machine.emit_object(parsed), names)


def _link(machine: Any, code: bytes, names: list[str]) -> NativeModule:
    engine = llvm.create_lljit_compiler(machine)
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in names:
        library.export_symbol(name)
    return NativeModule(library.link(engine, "rvsim"), engine)
