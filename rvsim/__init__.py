"""rvsim: an instruction-level simulator and verifier for RISC-V vector and SpacemiT IME kernels.

>>> import rvsim
>>> rvsim.Machine(cpu="spacemit-x60", vlen=512).config.vlen
512
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

import rvsim.host.cache_folder  # noqa: F401  (it notes the time, before all other imports)

if TYPE_CHECKING:
    from rvsim.errors import RvsimError
    from rvsim.hart.traps import Trap
    from rvsim.machine import Machine, RunResult
    from rvsim.verifier import (
        Case,
        Mismatch,
        Sum,
        arg,
        close,
        compile,
        exact,
        open,
        out,
        pointer_to,
        replay,
        returns,
        strategies,
        trap,
        ulp,
        verify,
    )

__version__ = "0.1.0"
__all__ = ["Case", "Machine", "Mismatch", "RunResult", "RvsimError", "Trap", "__version__", "arg"]
__all__ += ["close", "compile", "exact", "open", "out", "pointer_to", "replay", "returns"]
__all__ += ["Sum", "strategies", "trap", "ulp", "verify"]

# Imported at first use: a command line that only asks for the version needs no NumPy.
_VERIFIER: Final = (
    *("Case", "Mismatch", "Sum", "arg", "close", "compile", "exact", "open", "out", "pointer_to"),
    *("replay", "returns", "strategies", "trap", "ulp", "verify"),
)
_HOMES: Final = {
    **dict.fromkeys(_VERIFIER, "rvsim.verifier"),
    "Machine": "rvsim.machine",
    "RunResult": "rvsim.machine",
    "RvsimError": "rvsim.errors",
    "Trap": "rvsim.hart.traps",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
