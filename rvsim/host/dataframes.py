"""NumPy records as tables of other libraries, which are only imported where they are asked for."""

from __future__ import annotations

import importlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.errors import RvsimError

_HINTS: Final = {
    "pyarrow": "it comes with: pip install 'rvsim-x60[trace]'",
    "pandas": "get it with: pip install pandas",
}


def optional(purpose: str, module: str) -> Any:
    """A module of a library that rvsim does without; `RvsimError` if it is not there."""
    try:
        return importlib.import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise RvsimError(f"{purpose} needs {library}", hint=_HINTS[library]) from None


def arrow_schema(purpose: str, dtype: np.dtype[Any]) -> Any:
    """The schema of records: text of few kinds is a dictionary."""
    arrow = optional(purpose, "pyarrow")
    text = arrow.dictionary(arrow.int32(), arrow.string())
    types = ((name, dtype[name]) for name in dtype.names or ())
    return arrow.schema(
        [(name, text if t.kind == "S" else arrow.from_numpy_dtype(t)) for name, t in types]
    )


def arrow_table(purpose: str, rows: npt.NDArray[Any], schema: Any = None) -> Any:
    """Records as a ``pyarrow.Table``; `schema` is theirs, if it is known already."""
    arrow = optional(purpose, "pyarrow")
    schema = arrow_schema(purpose, rows.dtype) if schema is None else schema
    columns = [_column(arrow, rows[field.name], field.type) for field in schema]
    return arrow.Table.from_arrays(columns, schema=schema)


def _column(arrow: Any, values: npt.NDArray[Any], of_type: Any) -> Any:
    if values.dtype.kind != "S":
        return arrow.array(values)
    kinds, places = np.unique(values, return_inverse=True)
    indices = arrow.array(places.reshape(-1).astype(np.int32))
    return arrow.DictionaryArray.from_arrays(indices, kinds.astype(str).tolist()).cast(of_type)


def pandas_frame(purpose: str, rows: npt.NDArray[Any]) -> Any:
    """Records as a ``pandas.DataFrame``: text of few kinds is categorical."""
    pandas = optional(purpose, "pandas")
    columns = {
        name: pandas.Categorical(rows[name].astype(str))
        if rows.dtype[name].kind == "S"
        else rows[name]
        for name in rows.dtype.names or ()
    }
    return pandas.DataFrame(columns)
