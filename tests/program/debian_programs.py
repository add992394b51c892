"""Programs of Debian 13 for riscv64 as they are packaged, and what they are asked to do.

Each entry stands for what users of rvsim run besides kernels.  `{w}` is a folder that the program
may write, with the files of `fill`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

PACKAGES: Final = (
    *("coreutils", "busybox", "diffutils", "findutils", "gawk", "grep", "sed", "tar", "bc", "file"),
    *("perl", "python3", "lua5.4", "sqlite3", "jq", "ripgrep", "hyperfine"),
    *("gzip", "bzip2", "xz-utils", "zstd"),
)

STDIN: Final = b"some input\n1+2\nscale=5; 1/3\n"
_TEXT: Final = (
    "the quick brown fox jumps over the lazy dog\n" * 50 + "zeta\nalpha\nMixed Case\n1 2\n"
)
_LONG_AGO: Final = 1_000_000_000


def fill(folder: Path) -> None:
    """A few files and a link, all of the same age."""
    (folder / "d/sub").mkdir(parents=True)
    (folder / "text").write_text(_TEXT)
    (folder / "numbers").write_text("".join(f"{i * 7919 % 1000}\n" for i in range(200)))
    (folder / "sorted").write_text("".join(f"{i:03}\n" for i in range(0, 200, 3)))
    (folder / "json").write_text('{"a": [1, 2, {"b": "c"}], "n": null, "x": 1.5e3}')
    (folder / "d/a").write_text("aaa\n")
    (folder / "d/sub/b").write_text("bbb\n")
    (folder / "d/link").symlink_to("a")
    for path in sorted(folder.rglob("*"), reverse=True):
        os.utime(path, (_LONG_AGO, _LONG_AGO), follow_symlinks=False)


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder: its kind with its permissions, and what it contains."""
    return {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*"))}


def _content(path: Path) -> tuple[int, bytes]:
    mode = path.lstat().st_mode
    if path.is_symlink():
        return mode, os.fsencode(path.readlink())
    return mode, path.read_bytes() if path.is_file() else b""


_COREUTILS: Final = """
echo -e a\\tb
cat {w}/text -
wc {w}/text -
sort -n {w}/numbers
sort -u -r {w}/text
head -n 3 {w}/text
tail -n 3 {w}/text
cut -d o -f 2,4 {w}/text
tr a-z A-Z
uniq -c {w}/text
nl {w}/text
od -c {w}/json
md5sum {w}/text {w}/numbers
sha256sum {w}/text
sha512sum {w}/text
b2sum {w}/text
cksum {w}/text
base64 {w}/text
factor 1234567890 18446744073709551557
seq 1 3 30
expr 3 * 7
printf %5.2f|%s\\n 3.14159 x
date -u -d @1000000000
ls -R {w}
ls /nowhere
stat -c %n|%s|%f|%h|%Y {w}/text {w}/d/link
cp -r {w}/d {w}/e
mv {w}/text {w}/d/moved
rm -r {w}/d
mkdir -p {w}/x/y/z
ln -s text {w}/new
ln {w}/text {w}/hard
touch {w}/new
touch -d @900000000 {w}/text
chmod 600 {w}/text
install -m 640 {w}/text {w}/installed
truncate -s 10 {w}/text
dd if={w}/text of={w}/out bs=100 count=3 status=none
split -l 20 {w}/text {w}/part
csplit -s -f {w}/piece {w}/numbers 10 20
paste {w}/numbers {w}/text
join {w}/sorted {w}/sorted
comm {w}/sorted {w}/sorted
fold -w 20 {w}/text
tac {w}/numbers
shuf --random-source={w}/text {w}/numbers
numfmt --to=iec 123456789
tsort {w}/json
realpath {w}/d/link
readlink {w}/d/link
pwd
printenv HOME
uname -s -m
true
false
test -f {w}/text
sleep 0.01
du -b {w}/text
tee {w}/copy
shred -n 1 -u {w}/text
cat /nowhere/x {w}/none
"""

_OTHERS: Final = """
busybox awk {{s+=$1}}END{{print(s)}} {w}/numbers
busybox sed s/fox/cat/g {w}/text
busybox grep -c fox {w}/text
busybox gzip -c {w}/text
busybox sha1sum {w}/text
busybox xxd {w}/json
diff {w}/text {w}/numbers
cmp {w}/text {w}/numbers
find {w}/d/sub -type f -size -2
grep -n -E l(a|e)zy|zeta {w}/text
grep -r aa {w}/d
sed -i s/fox/cat/ {w}/text
tar -C {w} --owner=root:0 --group=root:0 -cf - text
bc -l
file -m /usr/share/misc/magic.mgc {w}/json {w}/text
gzip -n {w}/text
bzip2 -k {w}/text
xz -T1 -k {w}/text
zstd -q --single-thread --no-asyncio {w}/text
jq .a[2].b,(.x|sqrt),.n {w}/json
jq -c . {w}/json
rg -n fox.*dog {w}/text
rg -c --sort path a {w}
hyperfine --version
hyperfine --help
"""

_SCRIPTS: Final[tuple[tuple[str, ...], ...]] = (
    ("busybox", "sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i+1)); done; echo $i"),
    ("gawk", "BEGIN {{ printf \"%d %s %.3f\\n\", 42, toupper(\"x\"), atan2(1, 1) }}"),
    ("gawk", "{{ n[length($0)]++ }} END {{ for (k in n) print k, n[k] }}", "{w}/text"),
    ("perl", "-e", "print join(',', map {{ $_ * $_ }} 1 .. 10), qq(\\n)"),
    ("perl", "-ne", "$c{{$_}}++ for split; END {{ print qq($_ $c{{$_}}\\n) for sort keys %c }}",
     "{w}/text"),
    ("perl", "-MPOSIX", "-MList::Util=sum", "-MDigest::MD5=md5_hex",
     "-e", "print floor(3.7), sum(1 .. 100), md5_hex(qq(abc)), qq(\\n)"),
    ("perl", "-e", "pipe(R, W); syswrite(W, 'hi'); sysread(R, $b, 2); print qq($b\\n)"),
    ("perl", "-e", "use Nothing::There"),
    ("python3", "-S", "-I", "-c", "import math, zlib\n"
     "print(math.sin(1), 2**200, 1 / 3, zlib.crc32(b'abc'), sorted({{3, 1, 2}}))"),
    ("python3", "-S", "-I", "-c", "import os, select, signal\n"
     "r, w = os.pipe(); os.write(w, b'x'); print(select.select([r], [], [], 1)[0] == [r])\n"
     "p = select.poll(); p.register(r); e = select.epoll(); e.register(r)\n"
     "print(len(p.poll(10)), len(e.poll(0)), sorted(os.listdir('{w}')))\n"
     "signal.signal(signal.SIGALRM, lambda *_: print('alarm'))\n"
     "signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()"),
    ("python3", "-S", "-I", "-c", "import sqlite3\n"
     "c = sqlite3.connect('{w}/db'); c.execute('create table t(a)')\n"
     "c.executemany('insert into t values(?)', [(i,) for i in range(100)]); c.commit()\n"
     "print(c.execute('select sum(a), count(*) from t').fetchall())"),
    ("lua5.4", "-e", "for i = 1, 5 do print(i, i / 3, string.format('%q', 'a\\n')) end"),
    ("lua5.4", "-e", "local t = {{}} for i = 1, 2000 do t[i] = (i * 7919) % 1000 end\n"
     "table.sort(t) print(t[1], t[1000], #t)"),
    ("sqlite3", ":memory:", "create table t(a, b); insert into t values(1, 'x'), (2, 'y');"
     "select b, sum(a) from t group by b; select sqrt(2), 'a' || 1;"),
    ("sqlite3", "{w}/db", "create table t(a); insert into t values(1); select * from t;"),
)  # fmt: skip


def commands() -> list[tuple[str, ...]]:
    """Each command as a name below /usr/bin and its arguments, with `{w}` for the folder."""
    lines = f"{_COREUTILS}{_OTHERS}".split("\n")
    return [tuple(line.split(" ")) for line in lines if line] + list(_SCRIPTS)
