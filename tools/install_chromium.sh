#!/usr/bin/env bash
# Make Debian's Chromium available; run it as root.
#
# Tests open the page of `rvsim report` in it.
set -euo pipefail

die() {
    echo "install_chromium.sh: $*" >&2
    exit 1
}

if command -v chromium >/dev/null; then
    echo "chromium is already here"
    exit 0
fi
[[ $(id -u) == 0 ]] || die "chromium is missing: run this as root"
command -v apt-get >/dev/null || die "apt-get not found: install chromium by hand"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install=(apt-get -q -y --no-install-recommends install chromium)
"${install[@]}" >"$log" 2>&1 || {
    apt-get -q update >"$log" 2>&1 || die "can't read the package lists: $(grep -m 1 -E '^[EW]:' "$log")"
    "${install[@]}" >"$log" 2>&1 || die "can't install: $(grep -m 1 '^E:' "$log")"
}
hash -r
command -v chromium >/dev/null || die "installed, but chromium is still not on PATH"
echo "chromium installed as $(command -v chromium)"
