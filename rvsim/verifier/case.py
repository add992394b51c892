"""One example: the arguments of a call, and what the reference says of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.verifier.arguments import Argument
from rvsim.verifier.copies import copied

RESULT: Final = "return"
"""The name of the function's value among expected results."""

Reference = Callable[..., Any]
"""Takes arguments by position or by name; returns arrays and a value, or mutates arrays."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Arguments of the kernel, and those of the reference if it takes others.

    `call` has the kernel's, in order or by name.  `reference` has the reference's, in order or by
    name; without it the reference gets those of the kernel that its parameters name.  `out` names
    the results of the reference, in their order: names of parameters, or the arguments of
    `rvsim.out` themselves; without it they are all of the latter.
    """

    call: Sequence[Any] | Mapping[str, Any]
    reference: Sequence[Any] | Mapping[str, Any] | None = None
    out: Sequence[Any] | Mapping[Any, str] | None = None

    def arguments(self, names: Sequence[str]) -> dict[str, Any]:
        """Those of the kernel by the names of its parameters.

        Raises TypeError if there are more or fewer, or others.
        """
        if isinstance(self.call, Mapping):
            unknown = set(self.call) - set(names)
            if unknown:
                raise TypeError(f"the kernel has no parameter {', '.join(sorted(unknown))}")
            missing = [name for name in names if name not in self.call]
            if missing:
                raise TypeError(f"no value for {', '.join(missing)}")
            return {name: self.call[name] for name in names}
        if len(self.call) != len(names):
            raise TypeError(f"{len(self.call)} arguments for {len(names)} parameters")
        return dict(zip(names, self.call, strict=True))

    def results(self, arguments: Mapping[str, Any]) -> list[str]:
        """Names of the arrays that the reference returns, in its order."""
        if self.out is None:
            return [n for n, v in arguments.items() if isinstance(v, Argument) and v.is_out]
        named = [self.out[a] if isinstance(self.out, Mapping) else a for a in self.out]
        by_identity = {id(value): name for name, value in arguments.items()}
        return [n if isinstance(n, str) else by_identity[id(n)] for n in named]


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What the reference says: `arrays` by parameter, and the `value` unless it has none.

    Arrays that it says nothing of keep what they hold.
    """

    arrays: dict[str, Any] = field(default_factory=dict)
    value: Any = None
    has_value: bool = False


def ask(reference: Reference, case: Case, arguments: Mapping[str, Any], *, gives: bool) -> Expected:
    """Run the reference on copies of the arguments; `gives` says that the kernel returns a value.

    Its own exceptions pass.  Raises TypeError for results that nobody can place.
    """
    copies = copied(arguments)
    arrays = {n: _array(v) for n, v in copies.items() if _array(v) is not None}
    if case.reference is None:
        taken = _by_name(reference, {**copies, **arrays})
        returned = reference(**taken)
        changed = {n: arrays[n] for n in taken if n in arrays}
    elif isinstance(case.reference, Mapping):
        returned, changed = reference(**copied(case.reference)), {}
    else:
        own = copied({str(n): value for n, value in enumerate(case.reference)})
        returned, changed = reference(*own.values()), {}
    return _placed(returned, changed, case.results(arguments), list(arrays), gives)


def _by_name(reference: Reference, values: Mapping[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(reference).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return dict(values)
    required = [p.name for p in parameters if p.default is p.empty and p.name not in values]
    if required:
        raise TypeError(
            f"the reference takes {', '.join(required)}, but the kernel has only"
            f" {', '.join(values)}: name its parameters as C does, or draw a Case"
        )
    return {p.name: values[p.name] for p in parameters if p.name in values}


def _placed(
    returned: Any, changed: dict[str, Any], results: list[str], arrays: list[str], gives: bool
) -> Expected:
    """Returned results by the names of the arrays that they are."""
    if returned is None:
        return Expected(changed)
    if isinstance(returned, Mapping):
        found = dict(returned)
        value = found.pop(RESULT, None)
        unknown = set(found) - set(arrays)
        if unknown:
            raise TypeError(
                f"the reference returns {', '.join(sorted(unknown))}: no array of that name"
            )
        return Expected({**changed, **found}, value, RESULT in returned)
    parts = list(returned) if isinstance(returned, tuple) else [returned]
    if len(parts) == len(results) + 1 and gives:
        return Expected(
            {**changed, **dict(zip(results, parts, strict=False))}, parts[-1], has_value=True
        )
    if len(parts) != len(results):
        what = ", ".join(results) or "none that rvsim.out marks"
        raise TypeError(
            f"the reference returns {len(parts)} results, and the arrays it could mean are {what}:"
            " return a dict by name"
        )
    return Expected({**changed, **dict(zip(results, parts, strict=True))})


def _array(value: Any) -> npt.NDArray[Any] | None:
    if isinstance(value, Argument):
        return value.array
    return value if isinstance(value, np.ndarray) else None
