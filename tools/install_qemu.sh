#!/usr/bin/env bash
# Make QEMU user mode 10 or newer available on Debian 12 and 13; run it as root.
#
# Debian 12's own package (7.2) lacks Zvfh, Zvbb and Zicond, and backports' 10.0.2 asserts on some
# fault-only-first segment loads.  Debian 13's `qemu-user` is statically linked, so it also runs on
# Debian 12.  `qemu-riscv64` is the oracle of guest programs, and `qemu-aarch64` runs rvsim itself
# as on an AArch64 host.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/debian_apt.sh"

readonly EMULATORS=(qemu-riscv64 qemu-aarch64)

# qemu_version EMULATOR: prints the version of the one on PATH, or nothing.
qemu_version() {
    command -v "$1" >/dev/null || return 0
    "$1" --version | sed -nE '1s/.*version ([0-9]+(\.[0-9]+)*).*/\1/p'
}

# 10.0.0 to 10.0.2 count as too old because of the assertion named above.
new_enough() {
    [[ -n $1 ]] && [[ $(printf '%s\n' 10.0.3 "$1" | sort -V | head -n 1) == 10.0.3 ]]
}

# Prints the first emulator that is missing or too old, with the version found.
first_missing() {
    local emulator version
    for emulator in "${EMULATORS[@]}"; do
        version=$(qemu_version "$emulator")
        new_enough "$version" || { echo "$emulator '${version:-none}'" && return; }
    done
}

missing=$(first_missing)
if [[ -z $missing ]]; then
    echo "${EMULATORS[*]}: $(qemu_version "${EMULATORS[0]}") is already here"
    exit 0
fi
[[ $(id -u) == 0 ]] || die "found $missing, need 10.0.3 or newer: run this as root"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
private_apt "$work/apt" "$(dpkg --print-architecture)"
(cd "$work" && run_private_apt "$work/apt" download qemu-user) ||
    die "can't download qemu-user from $SUITE: $(apt_error "$work/apt")"

# Unpacking beside the package manager is the way out when dependencies or an older qemu package
# that owns the same files block a proper installation.
if ! dpkg -i "$work"/qemu-user_*.deb >"$work/log" 2>&1; then
    dpkg --remove --force-depends qemu-user >/dev/null 2>&1 || true
    dpkg -x "$work"/qemu-user_*.deb "$work/unpacked" || die "can't unpack qemu-user"
    install -m 755 "${EMULATORS[@]/#/$work/unpacked/usr/bin/}" /usr/local/bin ||
        die "can't write to /usr/local/bin"
fi

hash -r
missing=$(first_missing)
[[ -z $missing ]] || die "installed, but still found $missing"
echo "${EMULATORS[*]}: $(qemu_version "${EMULATORS[0]}") installed"
