"""Records of executed instructions: either engine makes them, and a listener gets batches.

An array of the state collects them.  The reference engine adds them one by one.  Compiled code
gets no more fuel than there is room: an instruction that leaves ``n`` of the fuel writes its record
``n + 1`` records before the word `records_end`.  Both engines give the same batches.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rvsim.cost.batch import BATCH_DTYPE, Batch
from rvsim.cost.reasons import REASONS
from rvsim.cost.record import TOLD
from rvsim.cost.state import EPOCH, SITES, word_index
from rvsim.hart.state import RECORD, RING, SLOT, State
from rvsim.insn.decode import Decoded

FIELDS: Final = ("site", "word", "vl", "vtype", "addr", "size", *TOLD)
"""The words of a record; a trapped instruction has `TRAPPED` set in `word`."""

TRAPPED: Final = 1 << 32
BATCH: Final = 1 << 13
"""Records in a batch; the last batch of a run may have fewer."""

_CAPACITY: Final = 2 * BATCH

_DTYPE: Final = np.dtype([(name, "<u8") for name in FIELDS])
_PACKED: Final = struct.Struct(f"={len(FIELDS)}Q")
_VL, _VTYPE, _ADDR, _BYTES = (SLOT[n] for n in ("vl", "vtype", "access_addr", "access_bytes"))
_NOW: Final = word_index("now")
_NOTHING: Final = bytes(8 * len(TOLD))

Listener = Callable[[Batch], object]


def ring_words() -> int:
    """The length of the array, in words."""
    return _CAPACITY * len(FIELDS)


class Ring:
    """The records of one machine, and their decoded instructions.

    `decode` decodes the word at a pc; `pc_of` gives the pc of a site.
    """

    def __init__(
        self,
        state: State,
        *,
        decode: Callable[[int, int], Decoded],
        pc_of: Callable[[int], int],
        listener: Listener,
        retired: int = 0,
    ) -> None:
        self._words = state.words
        self._record = state.arrays[RECORD]
        self._told = self._record.cast("B")
        self._core = state.arrays["core"]
        self._bytes = state.arrays[RING].cast("B")
        self._rows: npt.NDArray[Any] = np.frombuffer(self._bytes, _DTYPE)
        self._decode = decode
        self._pc_of = pc_of
        self._listener = listener
        self._code: list[Decoded] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._latest = np.full(SITES, -1, np.int32)
        self._code_words = np.zeros(0, np.uint32)
        self._pcs = np.zeros(0, np.uint64)
        self._retired = retired
        self.at = 0
        """The number of records in it."""

    # -- the reference engine

    def clear(self) -> None:
        """Clear the record of the instruction that begins."""
        self._told[:] = _NOTHING
        self._words[_BYTES] = 0

    def add(self, site: int, word: int, *, trapped: bool = False) -> None:
        """Add the record of the instruction that has executed or trapped."""
        told = self._record
        if not told[0]:
            told[0] = told[1] = told[2] = self._core[_NOW]
        if self.at >= BATCH:
            self._hand_over(BATCH)
        words = self._words
        _PACKED.pack_into(
            self._bytes,
            self.at * _PACKED.size,
            site,
            word | TRAPPED if trapped else word,
            words[_VL],
            words[_VTYPE],
            words[_ADDR],
            words[_BYTES],
            *told,
        )
        self.at += 1

    def retire(self) -> None:
        """Mark the last record as not trapped, and complete it."""
        record = self._rows[self.at - 1]
        record["word"] &= np.uint64(TRAPPED - 1)
        record["addr"], record["size"] = self._words[_ADDR], self._words[_BYTES]

    # -- compiled code

    def room(self) -> int:
        """How many more records fit."""
        if self.at >= BATCH:
            self._hand_over(BATCH)
        return _CAPACITY - self.at

    # -- batches

    def flush(self) -> None:
        """Hand over all records; the machine must not be running."""
        while self.at:
            self._hand_over(min(self.at, BATCH))

    def _hand_over(self, count: int) -> None:
        batch = self._batch(self._rows[:count])
        self.at -= count
        self._rows[: self.at] = self._rows[count : count + self.at].copy()
        self._listener(batch)

    def _batch(self, records: npt.NDArray[Any]) -> Batch:
        rows = np.empty(len(records), BATCH_DTYPE)
        trapped = records["word"] >= TRAPPED
        retired = self._retired + np.cumsum(~trapped, dtype=np.int64)
        rows["instret"] = retired - ~trapped
        self._retired = int(retired[-1])
        rows["code"] = self._codes(records["site"], records["word"].astype(np.uint32))
        for name in ("vl", "vtype", "size"):
            rows[name] = records[name]
        rows["addr"] = np.where(records["size"] != 0, records["addr"], 0)
        for name, told in (("issue", "issued"), ("start", "begun"), ("done", "finished")):
            np.subtract(records[told].view(np.int64), EPOCH, out=rows[name])
        for name in ("fetch", "slot", "wait", "lost"):
            rows[name] = records[name]
        rows["reason"] = records["charged"] % len(REASONS)
        rows["charged"] = self._charged(records)
        rows["lost_reason"] = records["lost_why"]
        rows["trapped"] = trapped
        return Batch(rows, self._code)

    def _charged(self, records: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
        """For each record, the pc that its wait is charged to; its own pc without a wait."""
        sites = np.where(records["wait"] != 0, records["charged"] // len(REASONS), records["site"])
        numbers = self._latest[sites.astype(np.intp)]
        charged: npt.NDArray[np.uint64] = self._pcs[numbers]
        for at in np.flatnonzero(numbers < 0).tolist():  # executed before the first record
            charged[at] = self._pc_of(int(sites[at]))
        return charged

    def _codes(
        self, sites: npt.NDArray[np.uint64], words: npt.NDArray[np.uint32]
    ) -> npt.NDArray[np.int32]:
        """The number of each record's instruction; code that changed gets new numbers."""
        codes = self._latest[sites.astype(np.intp)]
        new = codes < 0
        if len(self._code_words):
            new |= self._code_words[codes] != words
        if not new.any():
            return codes
        pairs, inverse = np.unique(
            np.stack([sites[new], words[new]], axis=1), axis=0, return_inverse=True
        )
        numbers = np.array([self._number(int(s), int(w)) for s, w in pairs], np.int32)
        codes[new] = numbers[inverse.reshape(-1)]
        self._code_words = np.array([d.word for d in self._code], np.uint32)
        self._pcs = np.array([d.pc for d in self._code], np.uint64)
        return codes

    def _number(self, site: int, word: int) -> int:
        found = self._numbers.get((site, word))
        if found is None:
            found = self._numbers[site, word] = len(self._code)
            self._code.append(self._decode(self._pc_of(site), word))
        self._latest[site] = found
        return found
