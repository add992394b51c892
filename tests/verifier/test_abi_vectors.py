"""The calling convention variant for vectors, as clang compiles functions of intrinsics."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from rvsim.guest.c_types import Type, Vector
from rvsim.machine import Machine
from rvsim.verifier.abi import plan_of
from tests.verifier.test_abi_compilers import EACH, TOP, ZIG, Call, machine_of, symbol

SOURCE = """
#include <riscv_vector.h>
void _start(void) { }
unsigned char out[16 * 2048];
#define AT(n) (out + 2048 * n)
#define ALL(suffix) __riscv_vsetvlmax_##suffix()

vint32m2_t f0(vint8m1_t a0, vint32m2_t a1, vbool8_t a2, vint16m1_t a3, long a4, vbool8_t a5) {
  __riscv_vse8((int8_t *)AT(0), a0, ALL(e8m1));
  __riscv_vse32((int32_t *)AT(1), a1, ALL(e32m2));
  __riscv_vsm(AT(2), a2, ALL(e8m1));
  __riscv_vse16((int16_t *)AT(3), a3, ALL(e16m1));
  *(long *)AT(4) = a4;
  __riscv_vsm(AT(5), a5, ALL(e8m1));
  return a1;
}
vint8m1x3_t f1(vint8m8_t a0, vint8m4_t a1, vint8m1x3_t a2, vint8m2_t a3, vfloat64m1_t a4,
               float a5) {
  __riscv_vse8((int8_t *)AT(0), a0, ALL(e8m8));
  __riscv_vse8((int8_t *)AT(1), a1, ALL(e8m4));
  for (int n = 0; n < 3; n++) {
    vint8m1_t part = n == 0 ? __riscv_vget_i8m1(a2, 0)
                   : n == 1 ? __riscv_vget_i8m1(a2, 1) : __riscv_vget_i8m1(a2, 2);
    __riscv_vse8((int8_t *)AT(2) + n * ALL(e8m1), part, ALL(e8m1));
  }
  __riscv_vse8((int8_t *)AT(3), a3, ALL(e8m2));
  __riscv_vse64((double *)AT(4), a4, ALL(e64m1));
  *(float *)AT(5) = a5;
  return a2;
}
vbool8_t f2(vbool8_t a0, vbool8_t a1) {
  __riscv_vsm(AT(0), a0, ALL(e8m1));
  __riscv_vsm(AT(1), a1, ALL(e8m1));
  return a1;
}
vint8mf2x2_t f3(vint8m8_t a0, vint8m8_t a1, vint8mf2x2_t a2, vbool16_t a3, vbool16_t a4,
                vuint16mf4_t a5) {
  __riscv_vse8((int8_t *)AT(0), a0, ALL(e8m8));
  __riscv_vse8((int8_t *)AT(1), a1, ALL(e8m8));
  __riscv_vse8((int8_t *)AT(2), __riscv_vget_i8mf2(a2, 0), ALL(e8mf2));
  __riscv_vse8((int8_t *)AT(2) + ALL(e8mf2), __riscv_vget_i8mf2(a2, 1), ALL(e8mf2));
  __riscv_vsm(AT(3), a3, ALL(e8mf2));
  __riscv_vsm(AT(4), a4, ALL(e8mf2));
  __riscv_vse16((uint16_t *)AT(5), a5, ALL(e16mf4));
  return a2;
}
vuint16mf2x2_t f4(vuint16mf2x2_t a0, vfloat32m1_t a1) {
  __riscv_vse16((uint16_t *)AT(0), __riscv_vget_u16mf2(a0, 0), ALL(e16mf2));
  __riscv_vse16((uint16_t *)AT(0) + ALL(e16mf2), __riscv_vget_u16mf2(a0, 1), ALL(e16mf2));
  __riscv_vse32((float *)AT(1), a1, ALL(e32m1));
  return a0;
}
"""
RESULTS = {"f0": 1, "f1": 2, "f2": 1, "f3": 2, "f4": 0}
"""Which argument comes back."""


def size_of(type: Type, vlen: int) -> int:
    """VLEN, LMUL and fields, but a multiple of 8 bits."""
    if isinstance(type, Vector):
        return max(int(vlen * 2**type.lmul_log2) // 8, 1) * type.fields
    return type.size


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    (folder / "v.c").write_text(SOURCE)
    done = subprocess.run(
        [*ZIG, "-O1", "-g", "-w", "-nostdlib", "-static", "v.c", "-o", "v.elf"],
        **{"cwd": folder, "capture_output": True, "text": True, "check": False},
    )
    assert done.returncode == 0, done.stderr
    return folder / "v.elf"


@pytest.mark.parametrize("vlen", [128, 256, 1024])
@pytest.mark.parametrize("name", RESULTS)
def test_vectors_arrive_and_come_back(program: Path, name: str, vlen: int) -> None:
    machine = machine_of(program, vlen=vlen)
    machine.memory.map(TOP - (1 << 16), 1 << 16, 3)
    check(machine, name, vlen, random.Random(random.getrandbits(32)))


def check(machine: Machine, name: str, vlen: int, noise: random.Random) -> None:
    assert machine.image is not None
    function = machine.image.types.function(name)
    assert function is not None
    plan = plan_of(function, vlen=vlen)
    sizes = [size_of(p.type, vlen) for p in function.parameters]
    values = [noise.randbytes(size) for size in sizes]
    placement = plan.place(values, TOP)
    for address, content in placement.memory:
        machine.memory.write(address, content)
    machine.enter(Call(symbol(machine, name), placement, noise))
    assert machine.run().reason == "exit"
    out = symbol(machine, "out")
    arrived = [machine.memory.read(out + EACH * n, size) for n, size in enumerate(sizes)]
    assert arrived == values
    back = plan.returned(machine.state, machine.memory.read, placement.result_address)
    assert back == values[RESULTS[name]]
    given = plan.give(back, placement)
    assert plan.returned(given, machine.memory.read) == back
    content = dict(placement.memory)
    assert plan.taken(placement, lambda address, size: content[address][:size]) == values
