"""The wheel works outside the checkout: data files are inside, and the main job passes."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_main_job_runs_from_the_built_wheel(tmp_path: Path) -> None:
    wheels, home = tmp_path / "wheels", tmp_path / "home"
    home.mkdir()
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", wheels, ROOT], check=True)
    (wheel,) = wheels.glob("rvsim_x60-*.whl")
    folder = ROOT / "rvsim" / "page"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "rvsim/py.typed" in names, "type checkers ignore our hints without it"
    page = {f"rvsim/page/{p.name}" for p in folder.iterdir() if p.suffix != ".py" and p.is_file()}
    assert len(page) > 5
    assert page <= names
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", wheel],
        check=True,
    )
    run = subprocess.run(
        [tmp_path / "venv" / "bin" / "rvsim", "run", "gemm_tile_s8.elf", "--vlen", "256"],
        cwd=home,
        env={"HOME": str(home), "RVSIM_CACHE_DIR": str(home / "cache"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1].startswith("PASS"), run.stdout
