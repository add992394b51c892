"""What all tests need: quiet NumPy, a cache of compiled code that isn't the user's, and shards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Generated code runs outside the engines in many tests: NumPy is as silent as they make it.
np.seterr(all="ignore")

# How long an example takes says something of the host, and nothing of rvsim.
settings.register_profile("rvsim", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rvsim")


@pytest.fixture(autouse=True, scope="session")
def _own_jit_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RVSIM_JIT_CACHE_DIR", str(tmp_path_factory.mktemp("jit")))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shard",
        metavar="K/N",
        type=_shard,
        help="run only part K (from 0) of the N parts that the tests fall into by their names",
    )


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not int(match[1]) < int(match[2]):
        raise pytest.UsageError(f"--shard {text}: write K/N with K below N, such as 0/4")
    return int(match[1]), int(match[2])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the shard; a name is always in the same one of N."""
    shard: tuple[int, int] | None = config.getoption("--shard")
    if shard is None:
        return
    part, parts = shard
    chosen = [item for item in items if crc32(item.nodeid.encode()) % parts == part]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen
