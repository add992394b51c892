"""Find Debian's Chromium and open pages in it, without a window."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright


def require_chromium() -> str:
    """Its path; without it skips the test, or fails it where RVSIM_REQUIRE_CHROMIUM=1."""
    path = shutil.which("chromium")
    if path is None:
        missing = "chromium not found (tools/install_chromium.sh installs it)"
        if os.environ.get("RVSIM_REQUIRE_CHROMIUM") == "1":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    return path


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a profile of its own, which is gone afterwards."""
    path = require_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()
