"""A failing case as a file: it can be run again without Hypothesis, its database or a seed."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.errors import RvsimError
from rvsim.verifier.arguments import Argument, ArrayPlace
from rvsim.verifier.call import Address
from rvsim.verifier.case import RESULT, Expected
from rvsim.verifier.compare import Close, Exact, Ulp
from rvsim.verifier.conditions import Conditions
from rvsim.verifier.mismatch import Mismatch, mismatch
from rvsim.verifier.program import GuestProgram, Kernel, open_program
from rvsim.verifier.sharing import grouped
from rvsim.verifier.sums import Sum
from rvsim.verifier.trial import Trial
from rvsim.verifier.values import decode, encode

FOLDER: Final = Path(".rvsim", "cases")

_COMPARISONS: Final = {kind.__name__: kind for kind in (Exact, Ulp, Close)}
_META: Final = "case"
_VERSION: Final = 1
_NO_CASE: Final = "{} is no saved case ({})"
_HINT: Final = "rvsim.verify writes them"
_LARGEST: Final = 1 << 30
"""Bytes that the arrays of a case may have."""


def save(
    trial: Trial,
    arguments: Mapping[str, Any],
    expected: Expected,
    conditions: Conditions,
    seed: int,
    folder: Path = FOLDER,
) -> Path:
    """Write a case; its name is made of its content, so that it is written once.

    Raises `RvsimError` if the file can't be written, or can't hold the comparison.
    """
    kernel, compare = trial.kernel, trial.compare
    if not isinstance(compare, Exact | Ulp | Close):
        raise RvsimError(
            f"a file can't hold {compare!r}", hint="compare with exact, ulp or close to save cases"
        )
    assert kernel.type is not None
    types = {p.name: p.type for p in kernel.type.parameters}
    arrays: dict[str, Argument] = {}
    numbers: dict[str, str] = {}
    for name, value in arguments.items():
        if isinstance(value, Argument | np.ndarray):
            arrays[name] = value if isinstance(value, Argument) else Argument(value)
        else:
            numbers[name] = encode(name, value, types[name]).hex()
    content: dict[str, npt.NDArray[Any]] = {}
    named = list(arrays.items())
    for k, group in enumerate(grouped([a.array for a in arrays.values()])):
        size = max(after + named[number][1].array.nbytes for number, after in group)
        octets = np.zeros(size, np.uint8)
        for number, after in group:
            array = named[number][1].array
            octets[after : after + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
        content[f"group {k}"] = octets
    results = {**expected.arrays, **({RESULT: expected.value} if expected.has_value else {})}
    sums = {name: result for name, result in results.items() if isinstance(result, Sum)}
    for name, array in expected.arrays.items():
        if name not in sums:
            content[f"expected {name}"] = np.asarray(array)
    for name, total in sums.items():
        content[f"terms {name}"] = np.asarray(total.terms, np.float64)
        content[f"start {name}"] = np.asarray(total.start, np.float64)
    meta = {
        "version": _VERSION,
        "program": str(kernel.program.path.resolve()),
        "digest": _digest(kernel.program.path),
        "kernel": kernel.name,
        "cpu": kernel.program.options.cpu,
        "arguments": list(arguments),
        "numbers": numbers,
        "arrays": [[name, _described(a)] for name, a in arrays.items()],
        "groups": [[tuple(m) for m in g] for g in grouped([a.array for a in arrays.values()])],
        "inputs": sorted(trial.inputs),
        "conditions": asdict(conditions),
        "seed": seed,
        "has_value": expected.has_value,
        "value": None if RESULT in sums else _as_json(expected.value, kernel),
        "sums": {name: _settings(total) for name, total in sums.items()},
        "compare": [type(compare).__name__, asdict(compare)],
    }
    content[_META] = np.frombuffer(json.dumps(meta, sort_keys=True).encode(), np.uint8)
    file = io.BytesIO()
    np.savez_compressed(file, **content)  # type: ignore[arg-type]
    key = hashlib.sha256(b"".join(name.encode() + a.tobytes() for name, a in content.items()))
    path = folder / f"{key.hexdigest()[:16]}.npz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.getvalue())
    except OSError as error:
        raise RvsimError(f"can't write {path}: {error.strerror}") from error
    return path


def _settings(total: Sum) -> dict[str, Any]:
    return {"axis": total.axis, "dtype": np.dtype(total.dtype).str, "fused": total.fused}


def _described(argument: Argument) -> dict[str, Any]:
    array = argument.array
    return {
        "dtype": np.lib.format.dtype_to_descr(array.dtype),
        "shape": array.shape,
        "writeable": bool(array.flags.writeable),
        "is_out": argument.is_out,
        "placement": list(argument.placement),
        "row_stride": argument.row_stride,
    }


def _as_json(value: Any, kernel: Kernel) -> Any:
    if isinstance(value, Address):
        return [value.argument, value.offset]
    assert kernel.type is not None
    return None if value is None else encode("the result", value, kernel.type.result).hex()


def replay(path: str | Path) -> None:
    """Run a case that a verification has saved once more.

    Raises `Mismatch` if the kernel still fails, `RvsimError` for a file that is no such case, or
    whose program is gone or has changed.
    """
    meta, content = _read(Path(path))
    try:
        program = _program(meta, Path(path))
        kernel = program[meta["kernel"]]
        arguments = _arguments(meta, content, kernel)
        expected = _expected(meta, content, kernel)
        kind, fields = meta["compare"]
        compare = _COMPARISONS[kind](**fields)
        conditions = Conditions(**meta["conditions"])
        seed = int(meta["seed"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        why = f"{type(error).__name__}: {error}"
        raise RvsimError(_NO_CASE.format(path, why), hint=_HINT) from None
    trial = Trial(kernel, compare, inputs=frozenset(meta["inputs"]))
    failure = trial.run(arguments, expected, conditions, seed)
    if failure is not None:
        found: Mismatch = mismatch(kernel.name, failure, arguments)
        raise found


def _read(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    try:
        with path.open("rb") as file:
            with zipfile.ZipFile(file) as parts:
                size = sum(part.file_size for part in parts.infolist())
            if size > _LARGEST:
                raise ValueError(f"{size} bytes expanded")
            with np.load(file, allow_pickle=False) as arrays:
                content = {name: arrays[name] for name in arrays.files}
        meta = json.loads(content.pop(_META).tobytes())
    except OSError as error:
        raise RvsimError(f"can't read {path}: {error.strerror or error}") from None
    except (KeyError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise RvsimError(_NO_CASE.format(path, error), hint=_HINT) from None
    if not isinstance(meta, dict) or meta.get("version") != _VERSION:
        raise RvsimError(_NO_CASE.format(path, "of another version"), hint=_HINT)
    return meta, content


def _program(meta: Mapping[str, Any], path: Path) -> GuestProgram:
    file = Path(meta["program"])
    if not file.is_file():
        raise RvsimError(f"{path} is of {file}, which is not there", hint="build it again")
    if _digest(file) != meta["digest"]:
        raise RvsimError(
            f"{file} has changed since {path} was saved", hint="verify the new one instead"
        )
    return open_program(file, cpu=meta["cpu"])


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _arguments(
    meta: Mapping[str, Any], content: Mapping[str, npt.NDArray[Any]], kernel: Kernel
) -> dict[str, Any]:
    assert kernel.type is not None
    types = {p.name: p.type for p in kernel.type.parameters}
    found: dict[str, Any] = {
        name: decode(types[name], bytes.fromhex(octets)) for name, octets in meta["numbers"].items()
    }
    arrays = meta["arrays"]
    for k, group in enumerate(meta["groups"]):
        octets = content[f"group {k}"].copy()
        for number, after in group:
            name, described = arrays[number]
            found[name] = _array(described, octets, after)
    return {name: found[name] for name in meta["arguments"]}


def _array(described: Mapping[str, Any], octets: npt.NDArray[np.uint8], after: int) -> Argument:
    descr = described["dtype"]
    dtype = np.dtype(descr if isinstance(descr, str) else [tuple(field) for field in descr])
    array: npt.NDArray[Any] = np.ndarray(tuple(described["shape"]), dtype, octets, after)
    array.flags.writeable = bool(described["writeable"])
    placement = ArrayPlace(*described["placement"])
    return Argument(array, described["is_out"], placement, described["row_stride"]).checked()


def _expected(
    meta: Mapping[str, Any], content: Mapping[str, npt.NDArray[Any]], kernel: Kernel
) -> Expected:
    assert kernel.type is not None
    before = "expected "
    arrays: dict[str, Any] = {
        n.removeprefix(before): a for n, a in content.items() if n.startswith(before)
    }
    sums = {
        name: Sum(content[f"terms {name}"], start=content[f"start {name}"], **given)
        for name, given in meta["sums"].items()
    }
    value = sums.pop(RESULT, meta["value"])
    arrays |= sums
    if isinstance(value, list):
        value = Address(0, *value)
    elif isinstance(value, str):
        value = decode(kernel.type.result, bytes.fromhex(value))
    return Expected(arrays, value, bool(meta["has_value"]))
