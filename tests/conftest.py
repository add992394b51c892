"""What all tests need: quiet NumPy, and a cache of compiled code that isn't the user's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

# Generated code runs outside the engines in many tests: NumPy is as silent as they make it.
np.seterr(all="ignore")


@pytest.fixture(autouse=True, scope="session")
def _own_jit_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RVSIM_JIT_CACHE_DIR", str(tmp_path_factory.mktemp("jit")))
        yield
