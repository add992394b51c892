"""Random functions, as clang and GCC compile them: arguments arrive, and results come back."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from rvsim.guest.c_types import Array, Field, Integer, Structure, Type
from rvsim.hart.traps import Trap
from rvsim.machine import Ending, Environment, Hart, Machine
from rvsim.verifier.abi import Plan, plan_of
from rvsim.verifier.locations import Placement
from tests.program import libc_programs
from tests.program.libc_programs import require_cross
from tests.verifier.signatures import (
    ALIGNED,
    HALVES,
    NUMBERS,
    PACKED,
    Signatures,
    lines_of,
    signatures,
)

BACK = 0x1000 - 8
TOP = 0x200_0000
FUNCTIONS = 160
EACH = 2048
"""Bytes from one argument to the next in the functions' array."""

ZIG = [
    *(sys.executable, "-m", "ziglang", "cc", "-target", "riscv64-freestanding"),
    *("-mcpu=generic_rv64+m+a+f+d+c+zfh+zfbfmin+v", "-mabi=lp64d", "-fno-sanitize=all"),
]
GCC = [libc_programs.GCC, "-fno-pie", "-fno-ipa-icf", "-Wl,--build-id=none"]
OF_CLANG = (*NUMBERS, *HALVES), (PACKED, ALIGNED)
OF_GCC = NUMBERS, (PACKED,)  # GCC 12 does not say in DWARF how structures are aligned
COMPILERS = {
    "clang -O2": (ZIG, ["-O2", "-gdwarf-5"], *OF_CLANG),
    "clang -O0, DWARF 4": (ZIG, ["-O0", "-gdwarf-4"], *OF_CLANG),
    "gcc -O2": (GCC, ["-O2", "-gdwarf-5"], *OF_GCC),
    "gcc -O0, DWARF 4": (GCC, ["-O0", "-gdwarf-4"], *OF_GCC),
}


class Call(Environment):
    """One call with registers and memory as a placement says."""

    def __init__(self, function: int, placement: Placement, noise: random.Random) -> None:
        self.function, self.placement, self.noise = function, placement, noise

    def start(self, hart: Hart) -> None:
        state = hart.state
        for number in range(5, 32):
            state.x[number] = self.noise.getrandbits(64)
            state.f[number] = self.noise.getrandbits(64)
        for number, word in self.placement.x.items():
            state.x[number] = word
        for number, word in self.placement.f.items():
            state.f[number] = word
        for number, content in self.placement.v.items():
            state.v[number, : len(content)] = list(content)
        state.x[1], state["pc"] = BACK, self.function

    def trapped(self, hart: Hart, trap: Trap) -> Ending | None:
        return Ending("exit", 0) if trap.pc == BACK else super().trapped(hart, trap)


def random_value(type: Type, pick: random.Random) -> bytearray:
    """Random bytes, but that bools are 0 or 1."""
    value = bytearray(pick.randbytes(type.size))
    for offset, part in parts(type):
        if isinstance(part, Integer) and part.name in ("_Bool", "bool"):
            value[offset] &= 1
    return value


def parts(type: Type, offset: int = 0):
    """Numbers of a type with their offsets; bit fields are what they are in."""
    match type:
        case Structure():
            for field in type.fields:
                if field.bit_size is None:
                    yield from parts(field.type, offset + field.offset)
        case Array():
            for number in range(type.count or 0):
                yield from parts(type.element, offset + number * type.element.size)
        case _:
            yield offset, type


def meant(type: Type) -> int:
    """A number whose bits are those of a value that mean something: not padding."""
    match type:
        case Structure():
            found = 0
            for field in type.fields:
                found |= bits_of(field) << 8 * field.offset
            return found
        case Array():
            each = meant(type.element)
            return sum(each << 8 * type.element.size * n for n in range(type.count or 0))
        case _:
            return (1 << 8 * type.size) - 1


def bits_of(field: Field) -> int:
    if field.bit_size is None:
        return meant(field.type)
    return (1 << field.bit_size) - 1 << (field.bit_offset or 0)


def masked(type: Type, value: bytes) -> int:
    return int.from_bytes(value, "little") & meant(type)


@pytest.fixture(scope="module", params=COMPILERS)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """A machine with a program of random functions; they differ with pytest's seed."""
    command, flags, numbers, attributes = COMPILERS[request.param]
    if command is GCC:
        require_cross()
    made = signatures(random.getrandbits(32), FUNCTIONS, numbers, attributes)
    folder = tmp_path_factory.mktemp("signatures")
    (folder / "f.c").write_text(made.source)
    done = subprocess.run(
        [*command, *flags, "-w", "-nostdlib", "-static", "f.c", "-o", "f.elf"],
        **{"cwd": folder, "capture_output": True, "text": True, "check": False},
    )
    assert done.returncode == 0, done.stderr
    return machine_of(folder / "f.elf"), made


def machine_of(path: Path, vlen: int = 256) -> Machine:
    machine = Machine(cpu="generic-rv64gcv", engine="numpy", vlen=vlen)
    machine.load(str(path))
    return machine


def symbol(machine: Machine, name: str) -> int:
    assert machine.image is not None
    found = machine.image.symbols.address(name)
    assert found is not None, name
    return found


def test_arguments_arrive_and_results_return(built: tuple[Machine, Signatures]) -> None:
    machine, made = built
    machine.memory.map(TOP - (1 << 16), 1 << 16, 3)
    noise = random.Random(random.getrandbits(32))
    for name in made.names:
        check(machine, made, name, noise)


def check(machine: Machine, made: Signatures, name: str, noise: random.Random) -> None:
    assert machine.image is not None
    types, at = machine.image.types, symbol(machine, name)
    function = types.function_at(at)
    assert function is not None, types.why_unknown
    assert types.function(name) == function
    assert function.is_variadic == (name in made.variadic)
    more = types.function(made.variadic[name]) if function.is_variadic else None
    variadic = tuple(p.type for p in more.parameters) if more else ()
    plan = plan_of(function, variadic)
    kinds = [*(p.type for p in function.parameters), *variadic]
    values = [random_value(kind, noise) for kind in kinds]
    result = random_value(function.result, noise)
    machine.memory.write(symbol(machine, "in"), bytes(result))
    placement = plan.place(values, TOP)
    for address, content in placement.memory:
        machine.memory.write(address, content)
    machine.enter(Call(at, placement, noise))
    ended = machine.run()
    assert ended.reason == "exit", (ended, made.source)
    said = "\n".join(lines_of(made.source, name))
    arrived = machine.memory.read(symbol(machine, "out"), EACH * len(kinds))
    for number, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        content = arrived[EACH * number : EACH * number + kind.size]
        assert masked(kind, content) == masked(kind, value), f"argument {number} of {name}\n{said}"
    back = plan.returned(machine.state, machine.memory.read, placement.result_address)
    assert masked(function.result, back) == masked(function.result, result), f"{name}\n{said}"
    check_callee(plan, placement, kinds, values)
    given = plan.give(bytes(result), placement)
    content = dict(given.memory)
    back = plan.returned(given, lambda a, n: content[a][:n], placement.result_address)
    assert masked(function.result, back) == masked(function.result, result), f"{name}\n{said}"


def check_callee(
    plan: Plan, placement: Placement, kinds: list[Type], values: list[bytearray]
) -> None:
    """Where a function of Python finds its arguments is where the caller has put them."""
    content = dict(placement.memory)

    def read(address: int, size: int) -> bytes:
        return content[address][:size]

    for kind, value, found in zip(kinds, values, plan.taken(placement, read), strict=True):
        assert masked(kind, found) == masked(kind, value)
