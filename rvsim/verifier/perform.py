"""Making a call: arguments into memory and registers, the run, and what is read back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from rvsim.guest.c_types import Function, Pointer, Void
from rvsim.machine import Hart
from rvsim.verifier.abi import plan_of
from rvsim.verifier.area import Placed, strays
from rvsim.verifier.call import Address, Call, PointerTo, Request
from rvsim.verifier.loaded_program import LoadedProgram
from rvsim.verifier.values import decode, encode


def perform(guest: LoadedProgram, request: Request) -> Call:
    """Make a call on a machine; the arrays get what the kernel wrote.

    Raises `CallFailed` if it does not return: then the arrays are as they were.
    """
    machine, type = guest.machine, request.type
    layout = guest.area.place(request.extents, request.groups)
    places = layout.places
    values = [
        places[v.argument].address.to_bytes(8, "little") if isinstance(v, PointerTo) else v
        for v in request.values
    ]
    for cell in layout.cells:
        cell.now[:] = cell.noise
    for argument, placed in zip(request.arguments, places, strict=True):
        if not argument.is_out:
            placed.guest[...] = argument.array
    said = len(guest.stdout)
    callbacks = [partial(_called_back, guest, *each) for each in request.callbacks]
    plan = plan_of(type, request.variadic, vlen=machine.config.vlen)
    placement = plan.place(values, guest.top)
    done = guest.run(request.address, placement, callbacks, request.max_insns, request.entry)
    content = plan.returned(machine.state, machine.memory.read, placement.result_address)
    value = decode(type.result, content)
    if isinstance(type.result, Pointer):
        value = _pointed(int.from_bytes(content, "little"), places, request.names)
    found = strays(layout)
    for argument, placed in zip(request.arguments, places, strict=True):
        if placed.writes:
            argument.array[...] = placed.guest
    arrays = {n: a.array for n, a in zip(request.names, request.arguments, strict=True)}
    insns = done.instret - guest.instret
    return Call(request, value, insns, arrays, found, bytes(guest.stdout[said:]))


def _pointed(address: int, placed: Sequence[Placed], names: Sequence[str]) -> Address:
    """The address as an offset into an array, or just after its end."""
    for name, each in zip(names, placed, strict=True):
        if each.address <= address <= each.address + each.nbytes:
            return Address(address, name, address - each.address)
    return Address(address)


def _called_back(guest: LoadedProgram, function: Any, type: Function, hart: Hart) -> None:
    """Call a function of Python with what is in the registers, and put its result there."""
    read = guest.machine.memory.read
    plan = plan_of(type, vlen=hart.config.vlen)
    taken = plan.taken(hart.state, read)
    values = [decode(p.type, content) for p, content in zip(type.parameters, taken, strict=True)]
    returned = function(*values)
    if not isinstance(type.result, Void):
        answer = encode("the result of a callback", returned, type.result)
        guest.put(plan.give(answer, hart.state))
