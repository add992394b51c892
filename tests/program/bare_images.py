"""Builds bare-metal images from assembly with ziglang; what is built stays in rvsim's cache."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rvsim.toolchain import cache_dir

TEXT = 0x80000000

_LINKER_SCRIPT = f"""
ENTRY(_start)
SECTIONS {{
  . = {TEXT:#x};
  .text : {{ *(.text) }}
  . = ALIGN(0x1000);
  .tohost : {{ *(.tohost) }}
  . = ALIGN(0x1000);
  .data : {{ *(.data) }}
  .bss : {{ *(.bss) }}
}}
"""

_HEAD = """
.option norvc
.option norelax

# end with a test number, 0 for a pass
.macro finish number
    li t0, \\number << 1 | 1
    la t1, tohost
1:  sd t0, (t1)
    j 1b
.endm

# hand `message` to the host and wait until it has acknowledged it
.macro to_host message
    la t1, tohost
    sd \\message, (t1)
    la t1, fromhost
1:  ld t2, (t1)
    beqz t2, 1b
    sd zero, (t1)
.endm

.section .tohost, "aw"
.balign 64
.globl tohost
tohost: .dword 0
.globl fromhost
fromhost: .dword 0
.text
.globl _start
_start:
"""

HANDLER = """
# Logs mcause, mepc and mtval, and goes on behind the instruction, or at ra after a bad jump.
.balign 4
handler:
    csrw mscratch, t0
    csrr t0, mcause
    sd t0, 0(s1)
    csrr t0, mepc
    sd t0, 8(s1)
    addi t0, t0, 4
    csrw mepc, t0
    csrr t0, mtval
    sd t0, 16(s1)
    csrr t0, mstatus
    sd t0, 24(s1)
    addi s1, s1, 32
    csrr t0, mcause
    addi t0, t0, -1
    bnez t0, 1f
    csrw mepc, ra
1:  csrr t0, mscratch
    mret
.data
.globl log
log: .zero 1024
"""
"""Needs s1 = log, and mtvec = handler."""

INSTALL = """
    la t0, handler
    csrw mtvec, t0
    la s1, log
"""

_COMMAND = (
    sys.executable, "-m", "ziglang", "cc", "-target", "riscv64-freestanding",
    "-mcpu=generic_rv64+m+a+f+d+c+v+zicsr+zifencei", "-g0", "-static", "-nostdlib",
    "-mcmodel=medany", "-fno-sanitize=all", "-Wl,--build-id=none",
)  # fmt: skip


@functools.cache
def build(body: str, *, tohost: bool = True) -> Path:
    """The image whose code begins with `body`; without `tohost` that name is another one."""
    source = _HEAD + body
    if not tohost:
        source = source.replace("tohost", "other")
    digest = hashlib.sha256(repr((_COMMAND, _LINKER_SCRIPT, source)).encode()).hexdigest()[:16]
    folder = cache_dir() / "tests"
    out = folder / f"bare-{digest}"
    if not out.exists():
        folder.mkdir(exist_ok=True)
        cache = str(cache_dir() / "zig")
        caches = {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
        with tempfile.TemporaryDirectory(dir=folder) as work:
            code, script, partial = (Path(work) / name for name in ("image.s", "link.ld", "image"))
            code.write_text(source)
            script.write_text(_LINKER_SCRIPT)
            done = subprocess.run(
                [*_COMMAND, str(code), "-T", str(script), "-o", str(partial)],
                env=caches | os.environ,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            partial.replace(out)
    return out
