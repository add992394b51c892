"""Find the data that ships with rvsim: the kernels' sources and the facts about the ISA."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Literal

from rvsim.errors import RvsimError


def data_path(name: Literal["isa", "kernels"]) -> Path:
    """The folder `name`, from the installed wheel or else from the checkout.

    The wheel holds it as `rvsim/_data/<name>`; an editable install reads the checkout's own.

    >>> data_path("kernels").name
    'kernels'
    """
    package = Path(str(files("rvsim")))
    for folder in (package / "_data" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise RvsimError(
        f"rvsim's folder '{name}' is missing from {package / '_data'}",
        hint="install rvsim-x60 again",
    )
