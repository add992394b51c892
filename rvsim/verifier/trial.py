"""One case under one set of conditions: the kernel's results beside those that are expected."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol
from zlib import crc32

import numpy as np
import numpy.typing as npt

from rvsim.guest.c_types import Void
from rvsim.verifier.arguments import Argument
from rvsim.verifier.call import Address, Call
from rvsim.verifier.case import Expected
from rvsim.verifier.compare import exact
from rvsim.verifier.conditions import Conditions
from rvsim.verifier.copies import copied
from rvsim.verifier.errors import CallFailed, CallTrapped
from rvsim.verifier.loaded_program import MOST_INSNS
from rvsim.verifier.perform import perform
from rvsim.verifier.program import Kernel
from rvsim.verifier.sums import Sum

_SEEDS: Final = 16
"""Of random registers: each example takes another one, until they begin anew."""


class Comparison(Protocol):
    """Which elements are wrong, and by which rule."""

    def wrong(self, got: npt.NDArray[Any], expected: npt.NDArray[Any]) -> npt.NDArray[np.bool_]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Failure:
    """What was wrong: `kind` and `place` tell one defect from another.

    `got` and `expected` are arrays, and `wrong` marks elements, where elements are.
    """

    kind: str
    place: str
    text: str
    conditions: Conditions
    got: npt.NDArray[Any] | None = None
    expected: Any = None
    wrong: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True)
class Trapped:
    """An expectation: the kernel traps, and the message has these words in it."""

    words: str


@dataclass(frozen=True, slots=True)
class Returned:
    """An expectation: the kernel returns this value, and its arrays are not looked at."""

    value: Any


def trap(words: str = "") -> Trapped:
    """For `expect`: at that VLEN the kernel traps, with these words in the message."""
    return Trapped(words)


def returns(value: Any) -> Returned:
    """For `expect`: at that VLEN the kernel returns this value and does nothing else."""
    return Returned(value)


def pointer_to(argument: str, offset: int = 0) -> Address:
    """For results of references: a pointer `offset` bytes into the array of an argument."""
    return Address(0, argument, offset)


Expectation = Trapped | Returned


class Trial:
    """Runs a kernel on cases; `compare` decides which elements are wrong."""

    def __init__(
        self,
        kernel: Kernel,
        compare: Comparison,
        *,
        inputs: Collection[str] = (),
        expect: Mapping[int, Expectation] | None = None,
        max_insns: int = MOST_INSNS,
    ) -> None:
        self.kernel = kernel
        self.compare = compare
        self.inputs = inputs
        self.expect = dict(expect or {})
        self.max_insns = max_insns
        self.calls = 0
        self.instructions = 0
        self.elements = 0
        """How many were compared."""

    @property
    def gives(self) -> bool:
        """Whether the kernel returns a value."""
        return self.kernel.type is not None and not isinstance(self.kernel.type.result, Void)

    def run(
        self,
        arguments: Mapping[str, Any],
        expected: Expected,
        conditions: Conditions,
        seed: int = 0,
    ) -> Failure | None:
        """The first thing that is wrong, or None."""
        filled = {name: _with_noise(name, value) for name, value in arguments.items()}
        before, given = copied(filled), copied(filled)
        expectation = self.expect.get(conditions.vlen)
        try:
            call = self._call(given, conditions, seed)
        except CallFailed as error:
            return self._ended(error, expectation, conditions)
        self.calls += 1
        self.instructions += call.instructions
        if isinstance(expectation, Trapped):
            text = f"the kernel returned, but a trap was expected: {expectation.words}"
            return Failure("no trap", self.kernel.name, text, conditions)
        if isinstance(expectation, Returned):
            return self._value(call.value, expectation.value, conditions)
        if call.strays:
            return self._stray(call, conditions)
        for name, array in call.arrays.items():
            failure = self._array(name, array, _bare(before[name]), expected, conditions)
            if failure is not None:
                return failure
        return self._value(call.value, expected.value, conditions) if expected.has_value else None

    def _call(self, arguments: Mapping[str, Any], conditions: Conditions, seed: int) -> Call:
        program = self.kernel.program.at(**conditions.options())
        kernel = self.kernel.of(program)
        request = kernel.request((), dict(arguments), self.inputs, self.max_insns)
        request = replace(request, entry=conditions.at_entry(seed % _SEEDS))
        with program.guest.in_use():
            program.guest.refresh()
            return perform(program.guest, request)

    def _ended(
        self, error: CallFailed, expectation: Expectation | None, conditions: Conditions
    ) -> Failure | None:
        if isinstance(expectation, Trapped) and expectation.words in str(error):
            self.calls += 1
            return None
        place = hex(error.pc) if isinstance(error, CallTrapped) else self.kernel.name
        return Failure(type(error).__name__, place, str(error), conditions)

    def _stray(self, call: Call, conditions: Conditions) -> Failure:
        stray = call.strays[0]
        name = call.request.names[stray.argument]
        size = call.request.extents[stray.argument].nbytes
        if stray.offset < 0:
            where = f"{-stray.offset} bytes before its start"
        elif stray.offset >= size:
            where = f"{stray.offset - size} bytes after its end"
        else:
            where = f"between its rows, at byte {stray.offset}"
        text = f"{stray.count} bytes around {name} were changed, the first {where}"
        return Failure("wrote outside", name, text, conditions)

    def _array(
        self,
        name: str,
        got: npt.NDArray[Any],
        before: npt.NDArray[Any],
        expected: Expected,
        conditions: Conditions,
    ) -> Failure | None:
        wanted: Any = before
        if name in expected.arrays:
            wanted = expected.arrays[name]
            if not isinstance(wanted, Sum):
                wanted = _as_large(name, np.asarray(wanted), before)
        if isinstance(wanted, Sum):
            wrong = wanted.wrong(got, directed=conditions.frm != "rne")
            wanted = wanted.one()
        else:
            wrong = (self.compare if name in expected.arrays else exact).wrong(got, wanted)
        self.elements += got.size if name in expected.arrays else 0
        if not wrong.any():
            return None
        kind = "wrong" if name in expected.arrays else "changed"
        count = f"{int(wrong.sum())} of {wrong.size} elements"
        text = (
            f"{count} of {name} are wrong"
            if kind == "wrong"
            else f"{count} of {name} were changed, which the reference leaves alone"
        )
        return Failure(kind, name, text, conditions, got.copy(), wanted, wrong)

    def _value(self, got: Any, expected: Any, conditions: Conditions) -> Failure | None:
        self.elements += 1
        if self._is_value(got, expected, conditions):
            return None
        wanted = f"a sum like {expected.one()}" if isinstance(expected, Sum) else expected
        text = f"{self.kernel.name} returned {got}, but the reference {wanted}"
        return Failure("value", self.kernel.name, text, conditions)

    def _is_value(self, got: Any, expected: Any, conditions: Conditions) -> bool:
        if isinstance(got, Address):
            if isinstance(expected, Address):
                return (got.argument, got.offset) == (expected.argument, expected.offset)
            return got.value == (0 if expected is None else int(expected))
        if isinstance(expected, Sum):
            return not expected.wrong(got, directed=conditions.frm != "rne").any()
        a = np.asarray(got)
        return not self.compare.wrong(a, np.asarray(expected).astype(a.dtype)).any()


def _with_noise(name: str, value: Any) -> Any:
    """An output as an array of random bytes that nobody may take for results."""
    if not isinstance(value, Argument) or not value.is_out:
        return value
    noise = np.random.default_rng(crc32(name.encode())).bytes(value.array.nbytes)
    array = np.frombuffer(noise, value.array.dtype).reshape(value.array.shape).copy()
    return replace(value, array=array, is_out=False)


def _as_large(name: str, wanted: npt.NDArray[Any], before: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The expected array; what the reference says nothing of stays as it was.

    A result with fewer elements along the first axis is that of the first ones.
    """
    if wanted.shape[1:] != before.shape[1:] or wanted.ndim != before.ndim:
        raise ValueError(
            f"the reference returns {name} in the shape {wanted.shape}, not {before.shape}"
        )
    if len(wanted) > len(before):
        raise ValueError(
            f"the reference returns {len(wanted)} rows of {name}, it has {len(before)}"
        )
    whole = before.copy()
    with np.errstate(all="ignore"):
        whole[: len(wanted)] = wanted.astype(before.dtype)
    if wanted.dtype.kind in "iu" and (whole[: len(wanted)] != wanted).any():
        raise ValueError(
            f"the reference returns numbers that {before.dtype} elements of {name} can't hold:"
            f" if they wrap around, return array.astype(np.{before.dtype})"
        )
    return whole


def _bare(value: Any) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = value.array if isinstance(value, Argument) else value
    return array
