"""State of machine mode that its CSRs can hold, and which CSR shows which word."""

import random

from tests.oracle.machine import KEPT, legal_mstatus

CSR_OF_WORD = {
    "mstatus": 0x300,
    "mie": 0x304,
    "mtvec": 0x305,
    "mcounteren": 0x306,
    "mscratch": 0x340,
    "mepc": 0x341,
    "mcause": 0x342,
    "mtval": 0x343,
}


def machine_words(rng: random.Random, privilege: int) -> dict[str, int]:
    """Words of `State` at random, as far as they can be."""
    words = {name: rng.getrandbits(64) for name in CSR_OF_WORD}
    words |= {name: words[name] & KEPT[n] for name, n in CSR_OF_WORD.items() if n in KEPT}
    words["mstatus"] = legal_mstatus(words["mstatus"] & rng.getrandbits(64))
    return words | {
        "privilege": privilege,
        "units_off": units_off(words["mstatus"]),
        "cycle_moved": rng.getrandbits(64),
        "instret_moved": rng.getrandbits(64),
    }


def units_off(mstatus: int) -> int:
    """1 if FS is Off, and 2 if VS is."""
    return (mstatus >> 13 & 3 == 0) | (mstatus >> 9 & 3 == 0) << 1
