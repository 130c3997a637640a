"""NPJ: many threads fill one hash table (`table.py`) at once, without locks.

Law: whatever the order in which threads come, in the end the table holds every row once.
"""

from __future__ import annotations

import numpy as np

from dovetail.intra_window.kernels.packed import HALF, UInt32s
from dovetail.intra_window.kernels.table import AHEAD, MANY, NO_SKIP, ROW, Table, slot_of
from dovetail.kernels.flags import kernel
from dovetail.kernels.machine import atomic_add, atomic_exchange, prefetch


@kernel
def insert_shared(table: Table, bits: int, keys: UInt32s, start: int, stop: int) -> None:
    """Insert `keys[start:stop]` under their row numbers. The caller has cleared `table.more`.

    Why no lock is needed: all that decides is one word, the slot. It holds the key and the newest row of its
    chain together, and only an exchange that still finds the word it read can change it. So of two threads
    that want the same slot exactly one wins, and the other looks at the word that beat it.
    """
    mask, drop = (1 << bits) - 1, np.uint64(32 - bits)
    slots, older, more = table.slots, table.older, table.more
    many = False
    for row in range(start, stop):
        if row + AHEAD < stop:
            ahead = slot_of(np.uint64(keys[row + AHEAD]), NO_SKIP, drop)
            prefetch(slots, ahead)
            if many:
                prefetch(more, ahead)
        key = np.uint64(keys[row])
        entry = (key << HALF) | np.uint64(row + 1)
        slot = slot_of(key, NO_SKIP, drop)
        there = slots[slot]
        while True:
            if there == 0:
                # A slot never goes back to 0 and never changes its key. So a thread that walked past an
                # occupied slot need not look at it again, and no key can get two slots: both threads would
                # have to win the same empty one.
                there = atomic_exchange(slots, slot, np.uint64(0), entry)
                if there == 0:
                    older[row] = 0
                    many = False
                    break
                # Lost. `there` is now the winner's word: it may be our key, or another one to walk past.
            elif there >> HALF == key:
                found = atomic_exchange(slots, slot, there, entry | MANY)
                if found == there:
                    # Our row is the newest, and `there` was before it. Between the exchange and these two
                    # writes the chain is not complete for a reader, but there is none: threads probe only
                    # after all have met at the end of the phase. `older[row]` is written by us alone, and
                    # `more` may be shared, so it is counted atomically. No word can come back (ABA): each
                    # has the number of a row, and a row is inserted once.
                    older[row] = np.uint32(there & ROW)
                    atomic_add(more, slot, np.uint32(1))
                    many = True
                    break
                there = found
            else:
                slot = (slot + 1) & mask
                there = slots[slot]
