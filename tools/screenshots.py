"""Make the picture of ``rvsim report`` in the README again: a page without its tables.

    python tools/screenshots.py

It needs Debian's Chromium (tools/install_chromium.sh) and playwright, of the extra `test`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import sync_playwright

from rvsim import cli

PICTURE: Final = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "report.png"
KERNELS: Final = ("gemm_tile_ime_u8", "gemm_tile_ime_pipelined")
_PICTURES_ONLY: Final = """
    .scroll, .about, .abreast, .tools, p, ul, #summary, #loops, #functions { display: none; }
    h2 { margin-top: 1.2rem; }
    .view { max-height: 44rem; }
    .roofline { max-width: 34rem; }
"""


def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("screenshots.py: chromium not found (tools/install_chromium.sh installs it)")
        return 1
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        code = cli.run(["report", *KERNELS, "--roi", "gemm_tile", "-o", str(page)])
        if code:
            return code
        browser = playwright.chromium.launch(executable_path=chromium)
        tab = browser.new_page(viewport={"width": 1100, "height": 800})
        tab.goto(page.as_uri())
        tab.add_style_tag(content=_PICTURES_ONLY)
        tab.locator("button[value=reset]").evaluate("button => button.click()")
        PICTURE.parent.mkdir(exist_ok=True)
        tab.screenshot(path=PICTURE, full_page=True)
        browser.close()
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
