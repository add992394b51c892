"""Cross-compile guest programs with the `ziglang` package, and keep the bundled kernels built.

zig contains clang and lld, so one wheel turns C and assembly into a static RISC-V Linux program on
any host.  Built kernels are cached by the content of everything that goes into them; reading the
cache starts no compiler.

A kernel is a folder of sources; its `variants.toml`, if it has one, makes further kernels of them
with other macros, so that schedules can be compared on one job.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rvsim.errors import RvsimError, did_you_mean
from rvsim.host.cache_folder import cache_folder
from rvsim.host.package_data import data_path
from rvsim.host.regular_file import is_own_file
from rvsim.profiles import DEFAULT_CPU, MIN_VLEN, profile

RUNTIME = "runtime"

# zig turns UBSan on by default; its checks would be part of every measured loop.
_COMPILE = (
    "-O2",
    "-g",
    "-ffreestanding",  # keeps loops of memcpy and memset from becoming calls of themselves
    "-fno-sanitize=all",
    "-fno-stack-protector",
    "-fomit-frame-pointer",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
    "-ffunction-sections",
    "-fdata-sections",
)
_LINK = (
    "-static",
    "-nostdlib",
    "-Wl,--gc-sections",
    "-Wl,--build-id=none",
    "-Wl,-z,max-page-size=4096",
)

# A kernel is what its author wrote: the scalar references stay scalar, no copy turns into vector
# code, and every static object keeps a symbol of its own.
KERNEL_FLAGS = (
    "-Wall",
    "-Wextra",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-mno-implicit-float",
    "-mllvm",
    "-enable-global-merge=false",
)


# For a program whose functions are called one by one: all of them stay, used or not.
_CALLABLE_FLAGS = ("-Wl,--no-gc-sections", "-mllvm", "-enable-global-merge=false")
_CALLABLE_SUFFIXES = (".c", ".S", ".s", ".o", ".a")
_SIGNS_OF_LIBC = ("undefined symbol", "file not found")
_STUB_MAIN = "__attribute__((weak)) int main(void) { return 0; }\n"


class CompileError(RvsimError):
    """The compiler or linker refused; `output` is its own text, and so is the message."""

    def __init__(self, output: str) -> None:
        super().__init__(output)
        self.output = output


@dataclass(frozen=True, slots=True)
class KernelSource:
    """One bundled kernel: its name, its folder, the files that are compiled and their macros.

    `variant` says what sets it apart from the kernel that is called as the folder; None for that.
    """

    name: str
    folder: Path
    sources: tuple[Path, ...]
    variant: str | None = None
    macros: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The kernel that it is, or is a variant of."""
        return self.folder.name

    @property
    def flags(self) -> tuple[str, ...]:
        """What the compiler is told beyond the sources; KERNEL is the name as a string."""
        return (*KERNEL_FLAGS, f'-DKERNEL="{self.name}"', *(f"-D{macro}" for macro in self.macros))


def build(
    sources: Sequence[Path],
    out: Path,
    *,
    extra_args: Sequence[str] = (),
    min_vlen: int = MIN_VLEN,
    cpu: str = DEFAULT_CPU,
) -> Path:
    """Compile and link C and assembly `sources` with the kernels' runtime into the ELF `out`.

    The compiler chooses and orders instructions for the profile `cpu`; `min_vlen` is the smallest
    VLEN, in bits, that it may take for granted.  `out` is replaced only when everything went well;
    warnings go to stderr.

    Raises `CompileError` with the compiler's text, `RvsimError` for a missing file or compiler.
    """
    for source in sources:
        if not source.is_file():
            raise RvsimError(f"no such source file: {source}")
    runtime = data_path("kernels") / RUNTIME
    # Absolute paths, so that DWARF lines can be found from anywhere.
    inputs = [str(path.resolve()) for path in (*sources, *_sources(runtime))]
    flags = _flags(extra_args, min_vlen, cpu)
    with _replacing(out) as partial:
        done = _compiled("cc", *flags, f"-I{runtime}", *inputs, "-o", str(partial))
        sys.stderr.write(done.stderr)
    return out


def build_callable(
    sources: Sequence[Path],
    *,
    flags: Sequence[str] = (),
    cpu: str = DEFAULT_CPU,
    min_vlen: int = MIN_VLEN,
    libc: Literal["musl", "none"] | None = None,
) -> Path:
    """The ELF, in the cache, of C, assembly, object and archive files, with all their functions.

    Its `main` does nothing unless they define one.  `libc` None takes the kernels' runtime, or
    musl where a header or a symbol is missing there; the first use of musl takes a minute.

    Raises `CompileError` with the compiler's text, `RvsimError` for a missing or foreign file.
    """
    for source in sources:
        if not source.is_file():
            raise RvsimError(f"no such source file: {source}")
        if source.suffix not in _CALLABLE_SUFFIXES:
            raise RvsimError(f"{source} is no C, assembly, object or archive file")
    if libc is not None:
        return _callable(sources, flags, _mcpu(cpu, min_vlen), libc)
    try:
        return _callable(sources, flags, _mcpu(cpu, min_vlen), "none")
    except CompileError as error:
        if not any(sign in error.output for sign in _SIGNS_OF_LIBC):
            raise
    return _callable(sources, flags, _mcpu(cpu, min_vlen), "musl")


def _callable(sources: Sequence[Path], flags: Sequence[str], mcpu: str, libc: str) -> Path:
    inputs = [str(path.resolve()) for path in sources]
    options = [mcpu, *_COMPILE]
    if libc == "musl":
        options.remove("-ffreestanding")
        options += ["-target", "riscv64-linux-musl", "-static"]
    else:
        runtime = data_path("kernels") / RUNTIME
        options += ["-target", "riscv64-freestanding", f"-I{runtime}", *_LINK]
        inputs += [str(path.resolve()) for path in _sources(runtime)]
    options += [*_CALLABLE_FLAGS, *flags]
    folder = cache_dir() / f"callable-{_preprocessed_hash(inputs, options)[:16]}"
    out = folder / "program.elf"
    if is_own_file(out):
        return out
    folder.mkdir(parents=True, exist_ok=True)
    stub = folder / "main.c"
    with _replacing(stub) as partial:
        partial.write_text(_STUB_MAIN, "utf-8")
    with _replacing(out) as partial:
        sys.stderr.write(_compiled("cc", *options, *inputs, str(stub), "-o", str(partial)).stderr)
    return out


def _preprocessed_hash(inputs: Sequence[str], options: Sequence[str]) -> str:
    """A hash of all that is compiled: the text of the sources with their headers and paths."""
    digest = hashlib.sha256(repr((_ziglang_version(), inputs, options, _STUB_MAIN)).encode())
    for path in inputs:
        if path.endswith((".c", ".S")):
            content = _compiled("cc", *options, "-E", path).stdout.encode()
        else:
            content = Path(path).read_bytes()
        digest.update(f"\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _compiled(*args: str) -> subprocess.CompletedProcess[str]:
    done = _zig(*args)
    if done.returncode != 0:
        raise CompileError(done.stderr or f"the compiler ended with status {done.returncode}")
    return done


def kernel_names() -> list[str]:
    """Names of the bundled kernels and their variants, sorted.

    >>> {"gemm_tile_s8", "gemm_tile_ime_u4"} <= set(kernel_names())
    True
    """
    return sorted(_kernels())


def find_kernel(name: str) -> KernelSource:
    """The bundled kernel called `name`, which may end in `.elf`; `RvsimError` if there is none.

    >>> find_kernel("gemm_tile_ime_u4.elf").family
    'gemm_tile_ime'
    """
    known = _kernels()
    stem = name.removesuffix(".elf")
    if stem not in known:
        families = ", ".join(sorted({kernel.family for kernel in known.values()}))
        hint = did_you_mean(stem, known, otherwise=f"kernels are {families}")
        raise RvsimError(f"unknown kernel '{name}'", hint=hint)
    return known[stem]


def kernel_in(folder: Path) -> KernelSource:
    """All C and assembly files of a folder as one kernel, to be compiled as the bundled ones are.

    Raises `RvsimError` if it has none.
    """
    sources = _sources(folder)
    if not sources:
        raise RvsimError(f"there is no C or assembly file in {folder}")
    return KernelSource(folder.resolve().name, folder, sources)


def copy_sources(kernel: KernelSource, folder: Path) -> list[Path]:
    """Copy the sources and headers of a kernel to a folder, for changes; the copies.

    Raises `RvsimError`, and copies nothing, if one of them is there already.
    """
    made = {folder / path.name: path for path in _inputs(kernel.folder)}
    there = next((copy for copy in made if copy.exists()), None)
    if there is not None:
        raise RvsimError(f"{there} exists already", hint="choose a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for copy, path in made.items():
            shutil.copyfile(path, copy)
    except OSError as error:
        raise RvsimError(f"can't write {folder}: {error.strerror}") from error
    return list(made)


def build_kernel(name: str, out_dir: Path | None = None, *, cpu: str = DEFAULT_CPU) -> Path:
    """The ELF of a bundled kernel for the profile `cpu`, in `out_dir`, else in the cache.

    The compiler runs only when the cache has no ELF of the same sources, flags and compiler.
    """
    kernel = find_kernel(name)
    place = Path(f"{kernel.name}-{_content_hash(kernel, cpu)[:16]}", f"{kernel.name}.elf")
    cached = cache_folder().resolve() / place  # may be there, though nothing can be written
    if not is_own_file(cached):
        cached = cache_dir() / place
        if not is_own_file(cached):
            cached.parent.mkdir(parents=True, exist_ok=True)
            build(kernel.sources, cached, extra_args=kernel.flags, cpu=cpu)
    if out_dir is None:
        return cached
    out = out_dir / cached.name
    with _replacing(out) as partial:
        shutil.copyfile(cached, partial)
    return out


def compiler_version() -> str:
    """Name and version of the cross compiler, for people.

    Raises `CompileError` if it can't run, `RvsimError` if it is missing.
    """
    done = _zig("cc", "--version")
    if done.returncode != 0:
        raise CompileError(done.stderr)
    return f"ziglang {_ziglang_version()}, {done.stdout.splitlines()[0]}"


@functools.cache
def cache_dir() -> Path:
    """Where built kernels and zig's own files are kept from run to run.

    The environment variable RVSIM_CACHE_DIR chooses it.  Where it can't be written, a temporary
    folder takes its place until this process ends.
    """
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder.resolve()
    except OSError:
        # A name that others can guess would let them plant an ELF in it.
        temporary = tempfile.mkdtemp(prefix="rvsim-")
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return Path(temporary)


@functools.cache
def _kernels() -> dict[str, KernelSource]:
    folders = (folder for folder in data_path("kernels").iterdir() if folder.name != RUNTIME)
    families = [_family(folder) for folder in folders if any(folder.glob("*.c"))]
    return {kernel.name: kernel for family in families for kernel in family}


def _family(folder: Path) -> Iterator[KernelSource]:
    """The kernel of a folder and its variants."""
    sources = _sources(folder)
    yield KernelSource(folder.name, folder, sources)
    table = folder / "variants.toml"
    variants = tomllib.loads(table.read_text("utf-8")) if table.is_file() else {}
    for name, variant in variants.items():
        macros = tuple(f"{macro}={value}" for macro, value in variant["macros"].items())
        yield KernelSource(f"{folder.name}_{name}", folder, sources, variant["about"], macros)


def _sources(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(path for path in folder.iterdir() if path.suffix in (".c", ".S")))


def _inputs(folder: Path) -> list[Path]:
    """What the compiler reads of a kernel's folder."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".c", ".h", ".S"))


def _flags(extra_args: Sequence[str], min_vlen: int, cpu: str) -> tuple[str, ...]:
    return ("-target", "riscv64-freestanding", _mcpu(cpu, min_vlen), *_COMPILE, *_LINK, *extra_args)


def _mcpu(cpu: str, min_vlen: int) -> str:
    """The option for a CPU: what it promises of VLEN is taken back, so that shorter ones work.

    >>> _mcpu("spacemit-x60", 128)
    '-mcpu=spacemit_x60-zvl256b+zvl128b'
    """
    found = profile(cpu)
    lengths = (1 << bits for bits in range(MIN_VLEN.bit_length(), found.vlen.bit_length()))
    promised = "".join(f"-zvl{length}b" for length in lengths)
    return f"-mcpu={found.mcpu}{promised}+zvl{min_vlen}b"


def _content_hash(kernel: KernelSource, cpu: str) -> str:
    """A hash of all that the kernel's ELF depends on; paths too, because DWARF names them."""
    flags = _flags(kernel.flags, MIN_VLEN, cpu)
    digest = hashlib.sha256(repr((_ziglang_version(), flags)).encode())
    for folder in (kernel.folder, data_path("kernels") / RUNTIME):
        for path in _inputs(folder):
            content = path.read_bytes()
            digest.update(f"\0{path.resolve()}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _ziglang_version() -> str:
    try:
        return importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError:
        raise RvsimError(
            "the cross compiler is missing", hint="install it with: pip install ziglang"
        ) from None


def _zig(*args: str) -> subprocess.CompletedProcess[str]:
    _ziglang_version()  # says what is missing better than a failing subprocess
    cache = str(cache_dir() / "zig")
    caches = {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
    return subprocess.run(
        [sys.executable, "-m", "ziglang", *args],
        env=caches | os.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


@contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """A temporary file beside `out` that takes its place at the end, unless an exception passes."""
    try:
        handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    except OSError as error:
        raise RvsimError(f"can't write {out}: {error.strerror}") from error
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(0o755)
        partial.replace(out)
    except OSError as error:
        raise RvsimError(f"can't write {out}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
