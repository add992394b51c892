#!/usr/bin/env bash
# Make `qemu-riscv64` 10 or newer available on Debian 12 and 13; run it as root.
#
# Debian 12's own package (7.2) lacks Zvfh, Zvbb and Zicond, and backports' 10.0.2 asserts on some
# fault-only-first segment loads.  Debian 13's `qemu-user` is statically linked, so it also runs on
# Debian 12.  Everything apt needs lives in a temporary directory: the system's own package sources
# stay as they are.
set -euo pipefail

readonly SUITE=trixie
readonly MIRROR=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

die() {
    echo "install_qemu.sh: $*" >&2
    exit 1
}

# Prints the version of the qemu-riscv64 on PATH, or nothing.
qemu_version() {
    command -v qemu-riscv64 >/dev/null || return 0
    qemu-riscv64 --version | sed -nE '1s/.*version ([0-9]+(\.[0-9]+)*).*/\1/p'
}

# 10.0.0 to 10.0.2 count as too old because of the assertion named above.
new_enough() {
    [[ -n $1 ]] && [[ $(printf '%s\n' 10.0.3 "$1" | sort -V | head -n 1) == 10.0.3 ]]
}

version=$(qemu_version)
if new_enough "$version"; then
    echo "qemu-riscv64 $version is already here"
    exit 0
fi
[[ $(id -u) == 0 ]] || die "found qemu-riscv64 '${version:-none}', need 10.0.3 or newer: run this as root"
command -v apt-get >/dev/null || die "apt-get not found: install QEMU user mode 10.0.3 or newer by hand"
[[ -r $KEYRING ]] || die "$KEYRING is missing: install debian-archive-keyring"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt drops to the user _apt for downloads
mkdir -p "$work"/{etc/preferences.d,state/lists/partial,cache/archives/partial,deb}
: >"$work/status"
echo "deb [signed-by=$KEYRING] $MIRROR $SUITE main" >"$work/etc/sources.list"

# An empty dpkg status file makes `apt-get download` choose by the temporary sources alone.
apt_options=(
    -o "Dir::Etc::sourcelist=$work/etc/sources.list"
    -o "Dir::Etc::sourceparts=-"
    -o "Dir::Etc::preferences=-"
    -o "Dir::Etc::preferencesparts=$work/etc/preferences.d"
    -o "Dir::State=$work/state"
    -o "Dir::State::status=$work/status"
    -o "Dir::Cache=$work/cache"
    -o "Acquire::Languages=none"
    -o "Acquire::Retries=3"
    -o "APT::Sandbox::User=root"
)
apt-get -q "${apt_options[@]}" update >"$work/log" 2>&1 ||
    die "can't read the package list of $MIRROR $SUITE: $(grep -m 1 -E '^[EW]:' "$work/log" || echo 'apt-get update failed')"
(cd "$work/deb" && apt-get -q "${apt_options[@]}" download qemu-user) >"$work/log" 2>&1 ||
    die "can't download qemu-user from $SUITE: $(grep -m 1 '^E:' "$work/log" || echo 'apt-get download failed')"

# Unpacking beside the package manager is the way out when dependencies or an older qemu package
# that owns the same files block a proper installation.
if ! dpkg -i "$work"/deb/qemu-user_*.deb >"$work/log" 2>&1; then
    dpkg --remove --force-depends qemu-user >/dev/null 2>&1 || true
    dpkg -x "$work"/deb/qemu-user_*.deb "$work/unpacked" || die "can't unpack qemu-user"
    install -m 755 "$work/unpacked/usr/bin/qemu-riscv64" /usr/local/bin/qemu-riscv64 ||
        die "can't write /usr/local/bin/qemu-riscv64"
fi

hash -r
version=$(qemu_version)
new_enough "$version" || die "installed, but 'qemu-riscv64 --version' says '${version:-nothing}'"
echo "qemu-riscv64 $version installed as $(command -v qemu-riscv64)"
