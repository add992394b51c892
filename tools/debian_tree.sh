#!/usr/bin/env bash
# Unpack Debian packages of another architecture, with what they depend on, into a folder.
#
#     tools/debian_tree.sh ARCHITECTURE FOLDER PACKAGE...
#     tools/debian_tree.sh riscv64 ~/riscv64 busybox python3 && qemu-riscv64 -L ~/riscv64 ~/riscv64/usr/bin/python3
#
# The packages are Debian 13's.  No root, no emulator: files are unpacked and nothing runs, so what
# maintainer scripts would do (alternatives, caches, users) is absent.  Symbolic links to absolute
# paths are made relative, so that they stay within the folder.  A folder that holds these packages
# already is left as it is; one that this script made with others is replaced.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/debian_apt.sh"

# unpack ARCHIVES TREE: the links that merge / and /usr come first, as some packages assume them.
unpack() {
    local archives=$1 tree=$2 link package
    for link in bin lib sbin; do
        mkdir -p "$tree/usr/$link"
        ln -s "usr/$link" "$tree/$link"
    done
    for package in "$archives"/*.deb; do
        dpkg -x "$package" "$tree" || die "can't unpack $(basename "$package")"
    done
}

# relative_links TREE: links to absolute paths would leave the tree.
relative_links() {
    local tree=$1 link target
    while IFS= read -r -d '' link; do
        target=$(readlink "$link")
        ln -sfnr "$tree$target" "$link"
    done < <(find "$tree" -type l -lname '/*' -print0)
}

(($# >= 3)) || die "usage: debian_tree.sh ARCHITECTURE FOLDER PACKAGE..."
architecture=$1
folder=$(realpath -m "$2")
shift 2
stamp=$folder/.debian-tree
contents="$SUITE $architecture $(printf '%s\n' "$@" | sort -u | xargs)"

if [[ -e $stamp && $(<"$stamp") == "$contents" ]]; then
    echo "$folder holds $contents already"
    exit 0
fi
[[ -e $stamp || ! -e $folder || -z $(ls -A "$folder" 2>&1) ]] ||
    die "$folder exists and isn't a tree of this script: name another folder"

mkdir -p "$(dirname "$folder")" 2>/dev/null && work=$(mktemp -d "$folder.XXXXXX" 2>/dev/null) ||
    die "can't make $folder: choose a folder that you may write"
trap 'rm -rf "$work"' EXIT
private_apt "$work/apt" "$architecture"
run_private_apt "$work/apt" --yes --download-only install "$@" ||
    die "can't download the packages for $architecture: $(apt_error "$work/apt")"
unpack "$work/apt/cache/archives" "$work/tree"
relative_links "$work/tree"
echo "$contents" >"$work/tree/.debian-tree"
rm -rf "$folder"
mv "$work/tree" "$folder"
echo "$folder: $(ls "$work/apt/cache/archives"/*.deb | wc -l) packages for $architecture, $(du -sh "$folder" | cut -f 1)"
