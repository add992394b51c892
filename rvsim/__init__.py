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

__version__ = "0.1.0"
__all__ = ["Machine", "RunResult", "RvsimError", "Trap", "__version__"]

# Imported at first use: a command line that only asks for the version needs no NumPy.
_HOMES: Final = {
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
