"""The error of an access that the guest may not make."""

from __future__ import annotations

from typing import Literal

Access = Literal["load", "store", "fetch"]


class GuestFault(Exception):
    """An access that the guest may not make: the address it asked for, and the kind of access."""

    __slots__ = ("access", "addr")

    def __init__(self, addr: int, access: Access) -> None:
        super().__init__(addr, access)
        self.addr = addr
        self.access = access

    def __str__(self) -> str:
        return f"{self.access} access fault at {self.addr:#x}"
