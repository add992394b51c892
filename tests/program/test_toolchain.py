"""rvsim.toolchain: errors in the compiler's own words, names of kernels, and the cache."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rvsim import toolchain
from rvsim.errors import RvsimError
from rvsim.toolchain import CompileError, build, build_kernel, find_kernel, kernel_names

HELLO = '#include "runtime.h"\nint main(void) { rt_print("hello\\n"); return 3; }\n'


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, for tests that look at what is built when."""
    monkeypatch.setenv("RVSIM_CACHE_DIR", str(tmp_path / "cache"))
    toolchain.cache_dir.cache_clear()
    yield tmp_path / "cache"
    toolchain.cache_dir.cache_clear()


def is_riscv_elf(path: Path) -> bool:
    head = path.read_bytes()[:20]
    return head[:6] == b"\x7fELF\x02\x01" and head[18:20] == b"\xf3\x00"


def test_own_sources_are_linked_with_the_runtime(tmp_path: Path) -> None:
    source = tmp_path / "hello.c"
    source.write_text(HELLO)
    out = build([source], tmp_path / "hello.elf")
    assert out == tmp_path / "hello.elf"
    assert is_riscv_elf(out)


def test_a_program_with_its_own_start_needs_no_main(tmp_path: Path) -> None:
    source = tmp_path / "bare.c"
    source.write_text("void _start(void) { for (;;) {} }\n")
    assert is_riscv_elf(build([source], tmp_path / "bare.elf"))


def test_compile_error_is_the_compilers_own_text(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text("int main(void) { return missing; }\n")
    out = tmp_path / "bad.elf"
    out.write_bytes(b"older")
    with pytest.raises(CompileError) as caught:
        build([source], out)
    expected = f"{source.resolve()}:1:25: error: use of undeclared identifier 'missing'"
    assert expected in caught.value.output
    assert "    1 | int main(void) { return missing; }\n" in caught.value.output
    assert str(caught.value) == caught.value.output
    assert out.read_bytes() == b"older"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.c", "bad.elf"]


def test_link_error_names_the_symbol(tmp_path: Path) -> None:
    source = tmp_path / "link.c"
    source.write_text("int other(void); int main(void) { return other(); }\n")
    with pytest.raises(CompileError, match="undefined symbol: other"):
        build([source], tmp_path / "link.elf")


def test_missing_source_and_unwritable_output_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RvsimError, match=r"^no such source file: .*none\.c$"):
        build([tmp_path / "none.c"], tmp_path / "out.elf")
    source = tmp_path / "hello.c"
    source.write_text(HELLO)
    with pytest.raises(RvsimError, match=r"^can't write .*out\.elf: No such file or directory$"):
        build([source], tmp_path / "missing" / "out.elf")


def test_kernels_are_found_with_and_without_suffix() -> None:
    assert {"gemm_tile_ime", "gemm_tile_s8", "memops"} <= set(kernel_names())
    assert "runtime" not in kernel_names()
    assert find_kernel("memops.elf") == find_kernel("memops")
    assert {path.suffix for path in find_kernel("gemm_tile_ime").sources} == {".c", ".S"}


def test_variants_share_all_but_macros() -> None:
    kernel, variant = find_kernel("gemm_tile_s8"), find_kernel("gemm_tile_s8_u4")
    assert (variant.family, variant.folder) == (kernel.family, kernel.folder)
    assert variant.sources == kernel.sources
    assert set(variant.flags) - set(kernel.flags) == {'-DKERNEL="gemm_tile_s8_u4"', "-DUNROLL=4"}
    assert kernel.variant is None
    assert variant.variant == "gemm_tile_s8 with its K loop unrolled by 4"


def test_unknown_kernel_suggests_a_known_one() -> None:
    with pytest.raises(RvsimError) as caught:
        find_kernel("gemm_tile_s9.elf")
    assert str(caught.value) == "unknown kernel 'gemm_tile_s9.elf': did you mean 'gemm_tile_s8'?"
    with pytest.raises(RvsimError, match=r"kernels are .*, gemm_tile_ime, gemm_tile_s8, memops"):
        find_kernel("xyzzy")


@pytest.mark.parametrize("name", kernel_names())
def test_kernels_build_without_a_warning(
    name: str, own_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elf = build_kernel(name)
    assert elf.is_relative_to(own_cache)
    assert is_riscv_elf(elf)
    assert capsys.readouterr().err == ""


def test_second_build_starts_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = build_kernel("memops")
    monkeypatch.setattr(toolchain, "_zig", lambda *args: pytest.fail(f"zig was started: {args}"))
    assert build_kernel("memops.elf") == first
    copy = build_kernel("memops", tmp_path)
    assert copy == tmp_path / "memops.elf"
    assert copy.read_bytes() == first.read_bytes()


def test_cached_kernel_imports_no_compiler() -> None:
    build_kernel("memops")
    script = (
        "import sys; from rvsim.toolchain import build_kernel; build_kernel('memops');"
        "print('ziglang' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_unwritable_cache_falls_back_to_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("RVSIM_CACHE_DIR", str(blocked / "cache"))
    toolchain.cache_dir.cache_clear()
    try:
        folder = toolchain.cache_dir()
        assert folder.is_dir()
        assert not folder.is_relative_to(tmp_path)
    finally:
        toolchain.cache_dir.cache_clear()


def test_kernels_in_a_cache_that_cannot_be_written_to_are_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = build_kernel("memops")

    def refuse(*args: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    monkeypatch.setattr(toolchain, "_zig", lambda *args: pytest.fail(f"zig was started: {args}"))
    toolchain.cache_dir.cache_clear()
    try:
        assert build_kernel("memops") == kept
    finally:
        toolchain.cache_dir.cache_clear()


def test_a_link_in_the_place_of_a_kernel_is_replaced(tmp_path: Path) -> None:
    kept = build_kernel("memops")
    content = kept.read_bytes()
    (tmp_path / "other.elf").write_bytes(b"other")
    kept.unlink()
    kept.symlink_to(tmp_path / "other.elf")
    assert build_kernel("memops").read_bytes() == content
    assert not kept.is_symlink()


def test_compiler_version_names_clang() -> None:
    assert "clang version" in toolchain.compiler_version()
