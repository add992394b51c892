#!/usr/bin/env bash
# Make Debian's cross compiler for RISC-V and its glibc available; run it as root.
#
# The tests build static and dynamic glibc programs with it, and use /usr/riscv64-linux-gnu as the
# system root of the dynamic ones.
set -euo pipefail

readonly COMPILER=riscv64-linux-gnu-gcc
readonly SYSROOT=/usr/riscv64-linux-gnu

die() {
    echo "install_cross.sh: $*" >&2
    exit 1
}

present() {
    command -v "$COMPILER" >/dev/null && [[ -e $SYSROOT/lib/libc.so.6 && -e $SYSROOT/lib/libc.a ]]
}

if present; then
    echo "$COMPILER is already here"
    exit 0
fi
[[ $(id -u) == 0 ]] || die "$COMPILER or $SYSROOT is missing: run this as root"
command -v apt-get >/dev/null || die "apt-get not found: install gcc-riscv64-linux-gnu by hand"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install=(apt-get -q -y --no-install-recommends install gcc-riscv64-linux-gnu libc6-dev-riscv64-cross)
"${install[@]}" >"$log" 2>&1 || {
    apt-get -q update >"$log" 2>&1 || die "can't read the package lists: $(grep -m 1 -E '^[EW]:' "$log")"
    "${install[@]}" >"$log" 2>&1 || die "can't install: $(grep -m 1 '^E:' "$log")"
}
present || die "installed, but $COMPILER or $SYSROOT/lib/libc.a is still missing"
echo "$COMPILER installed as $(command -v "$COMPILER")"
