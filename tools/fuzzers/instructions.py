"""Each instruction in random states: compiled alone, it does what the reference engine does.

The variants, the states and the comparison are those of the tests, which run some of each.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

import numpy as np

from tests.isa import test_jit_equals_numpy, test_llvm_equals_numpy
from tests.isa.test_llvm_equals_numpy import INSNS, vlen_for
from tests.isa.variants import variants
from tools.fuzzers import fuzz

STATES: Final = 12
VLENS: Final = (128, 256, 512, 1024)


def one(seed: int) -> None:
    """An instruction as a region, and as a function before and after LLVM's passes."""
    np.seterr(all="ignore")  # as engines do around what they run
    rng = random.Random(seed)
    insn, vlen = rng.choice(INSNS), rng.choice(VLENS)
    test_jit_equals_numpy.agree(insn, 1, STATES, vlen, seed)
    (variant,) = variants(insn, 1, STATES, vlen=vlen_for(insn, vlen), seed=seed)
    for native in (
        *test_llvm_equals_numpy.lowered([variant], opt=rng.randrange(3)),
        test_llvm_equals_numpy.optimised(variant),
    ):
        test_llvm_equals_numpy.agree(variant, native)


def main(arguments: Sequence[str]) -> int:
    return fuzz("instructions", (__doc__ or "").splitlines()[0], one, arguments)
