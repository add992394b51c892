"""System calls that give a file another name, or make one that is more than a name."""

from __future__ import annotations

import os
import stat
from typing import Final

from rvsim.guest.linux.calls.paths import existing, new_place
from rvsim.guest.linux.errno import EINVAL, ENOENT, EPERM, EXDEV, CallError, from_host
from rvsim.guest.linux.files import O_CREAT, O_EXCL, O_WRONLY
from rvsim.guest.linux.opening import open_place
from rvsim.guest.linux.process import LinuxProcess
from rvsim.guest.linux.table import Flags, Int, Mode, Size, Text, syscall

_AT_SYMLINK_FOLLOW: Final = 0x400


@syscall(36, "symlinkat")
def symlinkat(process: LinuxProcess, target: Text, dirfd: Int, path: Text) -> int:
    """Make a symbolic link; its text is for the guest, whose own tree of names follows it."""
    text = process.text(target)
    if not text:
        return ENOENT
    with new_place(process, dirfd, process.text(path)) as place:
        folder, name = place.host_to_change()
        try:
            os.symlink(text, name, dir_fd=folder)
        except OSError as error:
            raise from_host(error) from None
    return 0


@syscall(37, "linkat")
def linkat(
    process: LinuxProcess, old_dirfd: Int, old: Text, new_dirfd: Int, new: Text, flags: Flags
) -> int:
    """Give a file one more name, within one grant that may be written."""
    if flags & ~_AT_SYMLINK_FOLLOW:
        return EINVAL
    follow = bool(flags & _AT_SYMLINK_FOLLOW)
    with (
        existing(process, old_dirfd, process.text(old), follow=follow) as source,
        new_place(process, new_dirfd, process.text(new)) as target,
    ):
        if source.is_folder:
            return EPERM
        if not source.shares_mount(target):
            return EXDEV
        folder, name = source.host()
        new_folder, new_name = target.host_to_change()
        try:
            os.link(
                name,
                new_name,
                src_dir_fd=folder,
                dst_dir_fd=new_folder,
                follow_symlinks=False,
            )
        except OSError as error:
            raise from_host(error) from None
    return 0


@syscall(33, "mknodat")
def mknodat(process: LinuxProcess, dirfd: Int, path: Text, mode: Mode, device: Size) -> int:
    """Make an empty file; the host's devices, pipes and sockets are out of reach."""
    if stat.S_IFMT(mode & 0xFFFF) not in (0, stat.S_IFREG):  # an unsigned short in Linux
        return EPERM
    with new_place(process, dirfd, process.text(path)) as place:
        if place.is_spot:
            raise CallError(ENOENT)
        permissions = mode & 0o777 & ~process.umask
        open_place(process.tree, place, O_WRONLY | O_CREAT | O_EXCL, permissions).close()
    return 0
