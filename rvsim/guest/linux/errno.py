"""Linux's error numbers, negative as a system call returns them; the host's own may differ."""

from __future__ import annotations

import errno as _host
from typing import Final

EPERM, ENOENT, ESRCH, EINTR, EIO, ENXIO, E2BIG, ENOEXEC = -1, -2, -3, -4, -5, -6, -7, -8
EBADF, ECHILD, EAGAIN, ENOMEM, EACCES, EFAULT, EBUSY = -9, -10, -11, -12, -13, -14, -16
EEXIST, EXDEV, ENODEV, ENOTDIR, EISDIR, EINVAL, ENFILE = -17, -18, -19, -20, -21, -22, -23
EMFILE, ENOTTY, ETXTBSY, EFBIG, ENOSPC, ESPIPE, EROFS = -24, -25, -26, -27, -28, -29, -30
EMLINK, EPIPE, EDOM, ERANGE, EDEADLK, ENAMETOOLONG = -31, -32, -33, -34, -35, -36
ENOSYS, ENOTEMPTY, ELOOP, EOVERFLOW, EOPNOTSUPP, ETIMEDOUT = -38, -39, -40, -75, -95, -110
ERESTARTSYS: Final = -512
"""Of the kernel only: a signal has come; the call begins anew, or the program sees EINTR."""

ERROR_NAMES: Final[dict[int, str]] = {
    value: name
    for name, value in sorted(globals().items())
    if name.startswith("E") and isinstance(value, int) and value > ERESTARTSYS
}
"""Name of each error number.

>>> ERROR_NAMES[-2]
'ENOENT'
"""

_BY_NAME: Final = {name: value for value, name in ERROR_NAMES.items()}


class CallError(Exception):
    """Ends a system call with a negative error number."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def from_host(error: OSError) -> CallError:
    """The host's error as the guest sees it; EIO for one that this module has no name for.

    >>> from_host(FileNotFoundError(_host.ENOENT, "no such file")).code == ENOENT
    True
    """
    return CallError(_BY_NAME.get(_host.errorcode.get(error.errno or 0, ""), EIO))
