"""The inner loops of kernel variants are what the names say, whatever compilers made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from rvsim.guest.elf import load_elf
from rvsim.hart.memory import Memory
from rvsim.insn.decode import Decoded, decode, fetch
from rvsim.toolchain import build_kernel

IME = {
    "gemm_tile_ime": (2, 4, 8),
    "gemm_tile_ime_sequential": (2, 4, 8),
    "gemm_tile_ime_u4": (1, 1, 4),
    "gemm_tile_ime_u8": (1, 1, 8),
    "gemm_tile_ime_u16": (1, 1, 16),
    "gemm_tile_ime_pipelined": (1, 1, 8),
    "gemm_tile_ime_two_blocks": (1, 2, 8),
    "gemm_tile_ime_two_blocks_pipelined": (1, 2, 8),
}
"""Blocks of A and of B in a k block, and k blocks in a round."""

SEQUENTIAL = {name for name in IME if "_u" in name} | {
    "gemm_tile_ime_sequential",
    "gemm_tile_ime_two_blocks",
}


def function(name: str, symbol: str) -> list[Decoded]:
    memory = Memory()
    image = load_elf(build_kernel(name), memory)
    pc = image.symbols.address(symbol)
    assert pc is not None
    code = []
    while (found := image.symbols.lookup(pc)) is not None and found[0] == symbol:
        code.append(decode(*fetch(memory, pc), pc))
        pc += code[-1].length
    return code


def innermost_loops(code: list[Decoded]) -> Iterator[list[Decoded]]:
    """From the target of each backward branch to it, where no other loop is inside."""
    places = {d.pc: i for i, d in enumerate(code)}
    loops = [
        range(places[d.pc + d.fields["imm"]], i + 1)
        for i, d in enumerate(code)
        if d.insn is not None
        and d.insn.name in ("bne", "bgeu", "c.bnez")
        and d.pc + d.fields["imm"] in range(code[0].pc, d.pc)
    ]
    for loop in loops:
        if not any(other != loop and other.start in loop and other[-1] in loop for other in loops):
            yield [code[i] for i in loop]


def mnemonics(loop: list[Decoded]) -> Counter[str]:
    return Counter(d.insn.name for d in loop if d.insn is not None)


def main_loop(name: str, symbol: str, product: str) -> list[Decoded]:
    """The loop with the most products: the other ones do what makes no whole round."""
    loops = innermost_loops(function(name, symbol))
    return max(loops, key=lambda loop: mnemonics(loop)[product])


@pytest.mark.parametrize("name", IME)
def test_a_round_of_vmadot_has_the_loads_and_products_of_its_k_blocks(name: str) -> None:
    a, b, unroll = IME[name]
    found = mnemonics(main_loop(name, "gemm_tile", "smt.vmadot"))
    loads, products = unroll * (a + b), unroll * a * b
    assert found == {
        "vle8.v": loads, "addi": loads, "smt.vmadot": products, "c.addi": 1, "bgeu": 1
    }  # fmt: skip


@pytest.mark.parametrize("name", IME)
def test_loads_are_a_k_block_ahead_where_the_schedule_says_so(name: str) -> None:
    """Between a load and the first product that reads it is another product, or none."""
    loop = main_loop(name, "gemm_tile", "smt.vmadot")
    between = []
    products_before: dict[int, int] = {}  # the last load of each register
    products = 0
    for number, d in enumerate(loop + loop):
        if d.insn is not None and d.insn.name == "vle8.v":
            products_before[d.fields["vd"]] = products
        elif d.insn is not None and d.insn.name == "smt.vmadot":
            if number >= len(loop):  # all registers have been loaded in the loop
                loaded = max(products_before[d.fields[vs]] for vs in ("vs1", "vs2"))
                between.append(products - loaded)
            products += 1
    assert (min(between) == 0) == (name in SEQUENTIAL)


@pytest.mark.parametrize(
    ("name", "unroll"),
    [("gemm_tile_s8", 1), ("gemm_tile_s8_u2", 2), ("gemm_tile_s8_u4", 4), ("gemm_tile_s8_u8", 8)],
)
def test_a_round_of_vwmacc_has_as_many_k_as_its_name_says(name: str, unroll: int) -> None:
    found = mnemonics(main_loop(name, "gemm_tile_s8_x8", "vwmacc.vx"))
    assert (found["vle8.v"], found["vwmacc.vx"], found["lb"]) == (unroll, 8 * unroll, 8 * unroll)
    assert not {"vsetvli", "vmv2r.v"} & found.keys()


@pytest.mark.parametrize(
    ("name", "lmul_log2"), [("gemm_tile_f32_m1", 0), ("gemm_tile_f32_m2", 1), ("gemm_tile_f32", 2)]
)
def test_a_float_tile_has_the_lmul_that_its_name_says(name: str, lmul_log2: int) -> None:
    code = function(name, "gemm_tile_f32_x7")
    found = mnemonics(main_loop(name, "gemm_tile_f32_x7", "vfmacc.vf"))
    assert (found["vle32.v"], found["vfmacc.vf"], found["flw"]) == (1, 7, 7)
    vtypes = {d.fields["vtypei"] for d in code if d.insn is not None and d.insn.name == "vsetvli"}
    assert {vtype & 7 for vtype in vtypes} == {lmul_log2}
