"""Trace files: plain or compressed, whole records only, and no error before the run is over.

A trace file collects records and writes them in pieces of whole records.  In a compressed file each
piece is a gzip member or a Zstandard frame; readers see one stream.  If a piece cannot be written
(the disk is full, the reader of a pipe is gone), its written part is cut off, nothing more is
written, and `close` raises the error.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Final, cast

from rvsim.errors import RvsimError
from rvsim.host.dataframes import optional

_PIECE: Final = 1 << 18
_GZIP_LEVEL: Final = 4
"""Takes a twentieth of the time of level 9, for files that are 6 to 26 % larger."""

_SKIPPABLE: Final = bytes.fromhex("502a4d18")
"""The start of a Zstandard frame without data; the length of the rest follows (RFC 8878, 3.1.2)."""

Compress = Callable[[bytes], bytes]


def _compressor(path: str) -> Compress | None:
    """The compressor for the suffix of a file; None for a plain file."""
    if path.endswith(".gz"):
        return lambda data: gzip.compress(data, _GZIP_LEVEL, mtime=0)
    if path.endswith(".zst"):
        codec = optional(path, "pyarrow").Codec("zstd")
        return lambda data: codec.compress(data, asbytes=True)
    return None


def open_trace(path: str) -> io.BufferedReader:
    """A file to read, compressed or not; opening or reading it may raise `RvsimError`."""
    return io.BufferedReader(_DecompressedFile(path), _PIECE)


class _DecompressedFile(io.RawIOBase):
    """The content of a file; it turns the many exceptions of decompression into `RvsimError`."""

    def __init__(self, path: str) -> None:
        self.name = path
        with self._telling():
            self._file = self._open()

    def _open(self) -> IO[bytes]:
        if self.name.endswith(".gz"):
            return cast(IO[bytes], gzip.open(self.name, "rb"))
        if self.name.endswith(".zst"):
            return cast(IO[bytes], optional(self.name, "pyarrow").input_stream(self.name))
        return open(self.name, "rb", buffering=0)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise RvsimError(f"cannot read {self.name}: {reason}") from None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._telling():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def is_regular(file: IO[bytes]) -> bool:
    """Whether a file is a file on disk, and no device or pipe."""
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


class TraceFile:
    """A file that receives whole records.

    >>> TraceFile("/no/such/folder/log")
    Traceback (most recent call last):
    rvsim.errors.RvsimError: cannot write /no/such/folder/log: No such file or directory
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.failed = False
        self._error: OSError | None = None
        self._compress = _compressor(path)
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._border = 0
        self._header_room = 0
        try:
            self._file = open(path, "wb", buffering=0)  # noqa: SIM115 (closed by `close`)
        except OSError as error:
            raise self._cannot(error) from None
        self._regular = is_regular(self._file)

    def _cannot(self, error: OSError) -> RvsimError:
        return RvsimError(f"cannot write {self.path}: {error.strerror}")

    def write(self, record: bytes) -> None:
        """Add a record."""
        self._pending.append(record)
        self._pending_bytes += len(record)
        if self._pending_bytes >= _PIECE:
            self.flush()

    def flush(self) -> None:
        """Write the collected records."""
        data = b"".join(self._pending)
        self._pending.clear()
        self._pending_bytes = 0
        if data and not self.failed:
            self._put(data if self._compress is None else self._compress(data))

    def _put(self, data: bytes) -> None:
        """Write all of `data`, or nothing."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self.failed = True
            self._error = self._error or error
            if self._regular:
                os.ftruncate(self._file.fileno(), self._border)
                self._file.seek(self._border)
            return
        self._border += len(data)

    def close(self, tail: bytes = b"") -> None:
        """Write the rest and `tail`, which also ends an incomplete file.

        `RvsimError` if anything could not be written.
        """
        self.flush()
        self.failed = False
        if self._border:
            self._pending.append(tail)
            self.flush()
        try:
            self._file.close()
        except OSError as error:
            self._error = self._error or error
        if self._error is not None:
            raise self._cannot(self._error) from None

    # -- headers

    def begin(self, header: bytes) -> None:
        """Write a header at once, so that a trace is valid even if no record fits on the disk."""
        self.write(header)
        self.flush()

    def reserve(self, header: bytes) -> None:
        """Write a header that `replace_header` can overwrite."""
        if not self._regular:
            self._file.close()
            raise RvsimError(
                f"cannot write {self.path}: its beginning is written last, which needs a file",
                hint="name a regular file",
            )
        encoded = self._encode_header(header, 0)
        self._header_room = len(encoded)
        self._put(encoded)

    def replace_header(self, header: bytes) -> None:
        """Overwrite the header at the start of the file."""
        self.flush()
        try:
            os.pwrite(self._file.fileno(), self._encode_header(header, self._header_room), 0)
        except OSError as error:
            self._error = self._error or error

    def _encode_header(self, header: bytes, room: int) -> bytes:
        """The bytes of a header, whose length does not depend on the content."""
        if self.path.endswith(".gz"):
            return gzip.compress(header, compresslevel=0, mtime=0)
        if self._compress is None:
            return header
        frame = self._compress(header)
        spare = (room or 2 * len(frame) + len(header)) - len(frame) - 8
        return frame + _SKIPPABLE + spare.to_bytes(4, "little") + bytes(spare)
