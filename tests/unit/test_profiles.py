"""Extension sets: what a name brings with it, and what the profiles have."""

import pytest

from rvsim.insn.isa import isa
from rvsim.insn.registry import Insn
from rvsim.profiles import make_config, parse_isa, profile

CRYPTO = [i for i in isa().insns if i.extensions[0].startswith(("zvb", "zvk"))]
NIST = {"zvkned", "zvknhb", "zvkb", "zvkt"}
SHANG_MI = {"zvksed", "zvksh", "zvkb", "zvkt"}


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("zvkn", NIST),
        ("zvknc", NIST | {"zvbc"}),
        ("zvkng", NIST | {"zvkg"}),
        ("zvks", SHANG_MI),
        ("zvksc", SHANG_MI | {"zvbc"}),
        ("zvksg", SHANG_MI | {"zvkg"}),
        ("zvbb", {"zvkb"}),
    ],
)
def test_shorthands_of_vector_cryptography(name: str, members: set[str]) -> None:
    found, _ = parse_isa(f"rv64gcv_{name}")
    without, _ = parse_isa("rv64gcv")
    assert members <= found
    assert not {e for e in found - without - members if e.startswith("zvb") or e == "zvkg"} - {name}


@pytest.mark.parametrize(
    ("isa", "has"), [("rv64gcv", True), ("rv64ic_v", True), ("rv64imafc", False), ("rv64g", False)]
)
def test_compressed_doubles_come_with_c_and_d(isa: str, has: bool) -> None:
    """Zc: the C extension is Zca, and Zcd where there is D."""
    assert ("zcd" in parse_isa(isa)[0]) == has


@pytest.mark.parametrize("insn", CRYPTO, ids=lambda insn: insn.name)
def test_vector_cryptography_is_in_the_generic_profile_only(insn: Insn) -> None:
    assert insn.is_in(make_config("generic-rv64gcv"))
    assert not insn.is_in(make_config("spacemit-x60"))
    assert "zvkt" in profile("spacemit-x60").extensions
