"""What all tests need: quiet NumPy, a cache of compiled code that isn't the user's, no limits of
time, a random order with its seed printed, and shards."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Iterator
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Generated code runs outside the engines in many tests: NumPy is as silent as they make it.
np.seterr(all="ignore")

# A busy host is no fault: no limits of time; and no memory of earlier runs.
settings.register_profile(
    "rvsim", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
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


@pytest.hookimpl(tryfirst=True)  # before the two plugins look at their options
def pytest_configure(config: pytest.Config) -> None:
    """Let the seed of the order be that of Hypothesis's examples as well."""
    option = config.option
    if getattr(option, "randomly_seed", None) == "default":
        option.randomly_seed = random.SystemRandom().getrandbits(32)
    seed = _order_seed(config)
    if seed is not None and option.hypothesis_seed is None:
        option.hypothesis_seed = str(seed)


def _order_seed(config: pytest.Config) -> int | None:
    """The seed of this run; None without pytest-randomly, or if it is to repeat the last one."""
    seed = getattr(config.option, "randomly_seed", None)
    return seed if isinstance(seed, int) else None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how to run in the same order again, also with `-q`."""
    if (seed := _order_seed(config)) is not None:
        arguments = [a for a in config.invocation_params.args if "--randomly-seed" not in str(a)]
        command = shlex.join(("python", "-m", "pytest", *map(str, arguments)))
        terminalreporter.line(f"the same order again: {command} --randomly-seed={seed}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the shard; a name is always in the same one of N."""
    shard: tuple[int, int] | None = config.getoption("--shard")
    if shard is None:
        return
    part, parts = shard
    chosen = [item for item in items if crc32(item.nodeid.encode()) % parts == part]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen
