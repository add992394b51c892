"""The verifier: kernels called from Python with NumPy arrays, and proved against references."""

from rvsim.verifier import strategies
from rvsim.verifier.arguments import arg, out
from rvsim.verifier.call import Address, Call
from rvsim.verifier.case import Case
from rvsim.verifier.compare import close, exact, ulp
from rvsim.verifier.errors import CallExited, CallFailed, CallLimit, CallTrapped
from rvsim.verifier.mismatch import Mismatch
from rvsim.verifier.program import GuestProgram, Kernel
from rvsim.verifier.program import compile_program as compile
from rvsim.verifier.program import open_program as open
from rvsim.verifier.saved_cases import replay
from rvsim.verifier.sums import Sum
from rvsim.verifier.trial import pointer_to, returns, trap
from rvsim.verifier.verification import Report, verify

__all__ = [
    "Address",
    "Call",
    "CallExited",
    "CallFailed",
    "CallLimit",
    "CallTrapped",
    "Case",
    "GuestProgram",
    "Kernel",
    "Mismatch",
    "Report",
    "Sum",
    "arg",
    "close",
    "compile",
    "exact",
    "open",
    "out",
    "pointer_to",
    "replay",
    "returns",
    "strategies",
    "trap",
    "ulp",
    "verify",
]
