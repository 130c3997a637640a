"""Law: a ring holds the rows inserted and not yet expired or killed; probing finds each of them, once.

A ring is one side's buffer of a streaming join: a chained hash table over a ring of entries in arrival order.

    heads  [ . . 7 . . 3 . ]        newest slot of each chain
    slots  [ 0 1 2 3 4 5 6 7 . . . ]   -> arrival order, wrapping around
             ^ tail          ^ head

An entry is 24 bytes, whatever the width of the row: event time, row number in the log (with a *matched* bit),
32 bits of the key's hash (the *tag*), and the next older slot of its chain. With the head array a slot costs
26 to 28 bytes. Row numbers have 47 bits, and 15 *more* bits of the hash are above them: with a hundred
million rows in a ring one probe in forty meets another key with its tag, and each such candidate would have
its key compared in the log, somewhere in the window. 0 stands for bits that are not known.

Nothing is ever unlinked. To take an entry out of its chain we would have to walk to it from the head, a cache
miss for each step and each row that expires. Instead expiry marks entries dead (time = DEAD), block by block
in the order of memory, and links stay as they are. Leftover links and heads do no harm:

- The *age* of a slot is its distance from the tail, so a newer entry has a larger age. A walk goes on only to
  a slot whose age is smaller than that of the slot before it. So it ends, after at most USED steps.
- A link was made to an older entry. If its slot has been given back, its age is now at least USED; if it has
  been reused, it is newer than the link's own slot. Either way the walk ends there. It misses nothing: slots
  are given back oldest first, so everything behind the link is gone as well.
- A leftover head may lead to an entry of another chain, and on along that chain. The low bits of the tag
  choose the chain, so no tag there equals the one we look for. The head's own chain has no entry left: each
  would be older than the slot that was reused.

Expiry skips blocks whose smallest live time has not been passed. The tail advances over blocks that are
wholly dead. Entries that outlive their neighbours (rows dated in the future) hold the tail back until the
ring is full. Then it is rebuilt from its live entries, and grows only if that frees too few slots.

A block's *top* is the largest time that had come by then. A walk for rows from some time on ends at a block
whose top is before that time.

A ring carries a fingerprint of its live entries (`kernels/fingerprint.py`). `intact` checks a ring that was
read back: no link leads out of the arrays, and every live entry is found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.kernels.fingerprint import entry_print, pick_print
from dovetail.kernels.flags import kernel

ENTRY = np.dtype([("time", np.int64), ("row", np.int64), ("tag", np.uint32), ("next", np.uint32)])
BLOCK_ROWS = 1024
PROBE_GROUP, INSERT_GROUP = 512, 64
NO_SLOT = np.uint32(0xFFFFFFFF)
DEAD = np.iinfo(np.int64).min
MORE_BITS, ROW_BITS = 15, 47
_MORE_AT = np.int64(ROW_BITS + 1)
_ROW = np.int64((1 << (ROW_BITS + 1)) - 1)  # with its matched bit
FOREVER = np.iinfo(np.int64).max

TAIL, HEAD, USED, LIVE, PRINT, META_FIELDS = 0, 1, 2, 3, 4, 5

Int64s = NDArray[np.int64]
UInt32s = NDArray[np.uint32]
Bits = NDArray[np.uint16]
Bools = NDArray[np.bool_]


class Ring(NamedTuple):
    """The arrays of a ring: in memory, or mapped from a file shared by the processes of a host."""

    meta: Int64s  # TAIL and HEAD slots, USED slots between them, LIVE entries among those, their fingerprint
    heads: UInt32s
    block_min: Int64s  # smallest live event time of each block of BLOCK_ROWS slots
    block_top: Int64s  # no entry in a block or in an older one has a larger event time than this
    entries: NDArray[np.void]
    best_time: Int64s  # only where a pick is deferred (else empty): the partner chosen so far,
    best_row: Int64s  # its event time and row number


def tag_of(hashes: Int64s) -> UInt32s:
    """The upper half of a key's hash; the lower half already chose the bucket."""
    return (hashes.view(np.uint64) >> np.uint64(32)).astype(np.uint32)


def more_of(hashes: Int64s) -> Bits:
    """More bits of a key's hash, never 0: those next to the tag, which few buckets need."""
    more = (hashes.view(np.uint64) >> np.uint64(32 - MORE_BITS)).astype(np.uint16) & ((1 << MORE_BITS) - 1)
    return np.maximum(more, np.uint16(1))


def capacity_for(rows: int) -> int:
    """Slots for that many rows, in whole blocks."""
    return max(1, -(-rows // BLOCK_ROWS)) * BLOCK_ROWS


def heads_for(capacity: int) -> int:
    """The largest power of two that is not above the capacity: chains of one to two entries when full."""
    return 1 << (capacity.bit_length() - 1)


def clear(ring: Ring) -> None:
    ring.meta[:] = 0
    ring.heads[:] = NO_SLOT
    ring.block_min[:] = FOREVER
    ring.block_top[:] = DEAD


@kernel
def _top(ring: Ring) -> int:
    """No entry has a larger event time than this."""
    if ring.meta[USED] == 0:
        return DEAD
    last = ring.meta[HEAD] - 1
    return int(ring.block_top[(last if last >= 0 else len(ring.entries) - 1) // BLOCK_ROWS])


@kernel
def _grown(array: Int64s, size: int) -> Int64s:
    grown = np.empty(size, np.int64)
    grown[: len(array)] = array
    return grown


@kernel
def stamp(ring: Ring, more: int | np.uint64) -> None:
    """Add to the fingerprint, or take away from it (modulo 2^64)."""
    ring.meta[PRINT] = np.int64(np.uint64(ring.meta[PRINT]) + np.uint64(more))


@kernel
def insert(
    ring: Ring,
    tags: UInt32s,
    more: Bits,
    times: Int64s,
    rows: Int64s,
    matched: Bools,
) -> np.uint32:
    """Append rows at the head. The caller has made sure that there is room, and calls `choose` afterwards
    where picks are kept.

    Each chain's head is a cache miss. So a loop that does nothing else first reads those of INSERT_GROUP
    rows, and the misses overlap. We return what it read only so that the compiler does not remove the loop.

    A crash in here leaves heads that lead to slots which HEAD and USED do not count yet. A walk would stop at
    them and miss the live entries behind. That is safe only because nobody reads such a ring again: the live
    index (`engine/live_index.py`) removes its header before a step and writes it after the step, and without
    a header the ring is rebuilt from snapshots and the log.
    """
    # for i in rows: entries[slot] = times[i], rows[i], tags[i], heads[chain]; heads[chain] = slot; slot += 1
    capacity = len(ring.entries)
    mask = np.uint32(len(ring.heads) - 1)
    slot = ring.meta[HEAD]
    top = _top(ring)
    added = np.uint64(0)
    fetched = np.uint32(0)
    for start in range(0, len(tags), INSERT_GROUP):
        stop = min(start + INSERT_GROUP, len(tags))
        for i in range(start, stop):
            fetched ^= ring.heads[tags[i] & mask]
        for i in range(start, stop):
            chain = tags[i] & mask
            entry = ring.entries[slot]
            entry["time"] = times[i]
            word = (np.int64(more[i]) << _MORE_AT) | (rows[i] << 1) | matched[i]
            entry["row"] = word
            entry["tag"] = tags[i]
            entry["next"] = ring.heads[chain]  # may be a leftover, which no walk follows
            added += entry_print(slot, times[i], word, tags[i])
            ring.heads[chain] = np.uint32(slot)
            block = slot // BLOCK_ROWS
            ring.block_min[block] = min(ring.block_min[block], times[i])
            top = max(top, times[i])
            ring.block_top[block] = top
            slot += 1
            if slot == capacity:
                slot = 0
    ring.meta[HEAD] = slot
    ring.meta[USED] += len(tags)
    ring.meta[LIVE] += len(tags)
    stamp(ring, added)
    return fetched


@kernel
def choose(ring: Ring, slots: Int64s, times: Int64s, rows: Int64s) -> None:
    """Note the partners that the entries just inserted at these slots have picked before."""
    more = np.uint64(0)
    for i in range(len(slots)):
        ring.best_time[slots[i]] = times[i]
        ring.best_row[slots[i]] = rows[i]
        more += pick_print(slots[i], times[i], rows[i])
    stamp(ring, more)


@kernel
def _cuts(ring: Ring, times: Int64s, low: int) -> bool:
    """Whether an eighth of the ring or more is too early for some of these rows."""
    if len(times) == 0 or ring.meta[USED] == 0:
        return False
    slot = (ring.meta[TAIL] + ring.meta[USED] // 8) % len(ring.entries)
    return bool(ring.block_top[slot // BLOCK_ROWS] < times.max() + low)


@kernel
def probe(ring: Ring, tags: UInt32s, more: Bits, times: Int64s, low: int, high: int) -> tuple[Int64s, Int64s]:
    """Pairs (i, slot) with equal tags, no different more bits, and `times[i] + low <= slot's time <=
    times[i] + high`, in no fixed order.

    Each step along a chain is a cache miss, so PROBE_GROUP chains are walked side by side: one loop without
    branches loads the next entry of every chain, so that the misses overlap, then a second loop looks at what
    came. Most chains end after a step or two; the group is large so that there are still many then. The first
    loop reads only tag and link: they are in one cache line, and an entry may be in two.

    A walk goes back in the order of arrival, which is roughly that of time. It ends at a block whose top is
    too early: so is everything behind it. After a step of many rows that is much of a chain. Where little of
    the ring is too early for any of the rows, we do not look.
    """
    # for i in rows: for slot in chain(tags[i]): if same tag and in bounds: found (i, slot)
    capacity = np.int64(len(ring.entries))
    mask = np.uint32(len(ring.heads) - 1)
    tail = ring.meta[TAIL]
    used = ring.meta[USED]
    cuts = _cuts(ring, times, low)
    found = 0
    room = max(1024, len(tags) + len(tags) // 4)
    probing = np.empty(room, np.int64)
    slots = np.empty(room, np.int64)
    who = np.empty(PROBE_GROUP, np.int64)  # of each chain being walked: the probing row,
    where = np.empty(PROBE_GROUP, np.uint32)  # the slot it has come to,
    newest = np.empty(PROBE_GROUP, np.int64)  # and the age of the slot before: the next must be older
    tag_there = np.empty(PROBE_GROUP, np.uint32)
    next_there = np.empty(PROBE_GROUP, np.uint32)
    for start in range(0, len(tags), PROBE_GROUP):
        group = min(PROBE_GROUP, len(tags) - start)
        for j in range(group):
            where[j] = ring.heads[tags[start + j] & mask]
        walking = 0
        for j in range(group):
            if where[j] != NO_SLOT:
                age = np.int64(where[j]) - tail
                age += capacity if age < 0 else 0
                early = cuts and ring.block_top[where[j] // BLOCK_ROWS] < times[start + j] + low
                if age < used and not early:  # else the head is a leftover
                    who[walking] = start + j
                    where[walking] = where[j]
                    newest[walking] = age
                    walking += 1
        while walking > 0:
            for j in range(walking):
                entry = ring.entries[where[j]]
                tag_there[j] = entry["tag"]
                next_there[j] = entry["next"]
            still = 0
            for j in range(walking):
                i = who[j]
                if tag_there[j] == tags[i]:
                    entry = ring.entries[where[j]]
                    time, other = entry["time"], entry["row"] >> _MORE_AT
                    same = other == 0 or more[i] == 0 or other == more[i]
                    if same and times[i] + low <= time <= times[i] + high and time != DEAD:
                        if found == room:
                            room *= 2
                            probing = _grown(probing, room)
                            slots = _grown(slots, room)
                        probing[found] = i
                        slots[found] = where[j]
                        found += 1
                slot = next_there[j]
                if slot != NO_SLOT:
                    age = np.int64(slot) - tail
                    age += capacity if age < 0 else 0
                    early = cuts and ring.block_top[slot // BLOCK_ROWS] < times[i] + low
                    if age < newest[j] and not early:  # else the link is a leftover, and the walk ends
                        who[still] = i
                        where[still] = slot
                        newest[still] = age
                        still += 1
            walking = still
    return probing[:found], slots[:found]


@kernel
def find(ring: Ring, tags: UInt32s, rows: Int64s) -> Int64s:
    """The slot of each row number, or -1 if it is not in the ring (any more)."""
    capacity = np.int64(len(ring.entries))
    mask = np.uint32(len(ring.heads) - 1)
    tail = ring.meta[TAIL]
    slots = np.full(len(tags), -1, np.int64)
    for i in range(len(tags)):
        slot = ring.heads[tags[i] & mask]
        newest = ring.meta[USED]
        while slot != NO_SLOT:
            age = np.int64(slot) - tail
            if age < 0:
                age += capacity
            if age >= newest:
                break
            newest = age
            entry = ring.entries[slot]
            if (entry["row"] & _ROW) >> 1 == rows[i] and entry["time"] != DEAD:
                slots[i] = np.int64(slot)
                break
            slot = entry["next"]
    return slots


@kernel
def crowded(ring: Ring, tags: UInt32s, most: int) -> tuple[Int64s, Int64s]:
    """For each of these tags (no two the same) that more than `most` live entries have: all their slots, and
    the position of the tag."""
    capacity = np.int64(len(ring.entries))
    mask = np.uint32(len(ring.heads) - 1)
    tail = ring.meta[TAIL]
    slots = np.empty(1024, np.int64)
    which = np.empty(1024, np.int64)
    found = 0
    for i in range(len(tags)):
        before = found
        slot = ring.heads[tags[i] & mask]
        newest = ring.meta[USED]
        while slot != NO_SLOT:
            age = np.int64(slot) - tail
            if age < 0:
                age += capacity
            if age >= newest:
                break
            newest = age
            entry = ring.entries[slot]
            if entry["tag"] == tags[i] and entry["time"] != DEAD:
                if found == len(slots):
                    slots = _grown(slots, 2 * found)
                    which = _grown(which, 2 * found)
                slots[found] = slot
                which[found] = i
                found += 1
            slot = entry["next"]
        if found - before <= most:
            found = before
    return slots[:found], which[:found]


@kernel
def expire(ring: Ring, bound: int) -> Int64s:
    """Mark every live entry with a time below the bound dead; returns their slots, oldest arrival first."""
    capacity = len(ring.entries)
    blocks = capacity // BLOCK_ROWS
    used = ring.meta[USED]
    expired = np.empty(1024, np.int64)
    count = 0
    less = np.uint64(0)
    picks = len(ring.best_row) > 0
    block = ring.meta[TAIL] // BLOCK_ROWS
    for _ in range((used + BLOCK_ROWS - 1) // BLOCK_ROWS):
        if ring.block_min[block] < bound:
            start = block * BLOCK_ROWS
            tail_distance = start - ring.meta[TAIL]
            if tail_distance < 0:
                tail_distance += capacity
            smallest = FOREVER
            for slot in range(start, start + min(BLOCK_ROWS, used - tail_distance)):
                time = ring.entries[slot]["time"]
                if time == DEAD:
                    continue
                if time >= bound:
                    smallest = min(smallest, time)
                    continue
                if count == len(expired):
                    expired = _grown(expired, 2 * count)
                expired[count] = slot
                count += 1
                entry = ring.entries[slot]
                less += entry_print(slot, time, entry["row"], entry["tag"])
                if picks:
                    less += pick_print(slot, ring.best_time[slot], ring.best_row[slot])
                entry["time"] = DEAD  # its link stays: chains lead through dead entries
            ring.block_min[block] = smallest
        block += 1
        if block == blocks:
            block = 0
    ring.meta[LIVE] -= count
    stamp(ring, np.uint64(0) - less)
    # Give wholly dead blocks back, oldest first: leftover links are harmless only in this order. The head's
    # own block stays until it is full, so that the tail is always at the start of a block.
    while ring.meta[USED] >= BLOCK_ROWS and ring.block_min[ring.meta[TAIL] // BLOCK_ROWS] == FOREVER:
        ring.meta[USED] -= BLOCK_ROWS
        ring.meta[TAIL] += BLOCK_ROWS
        if ring.meta[TAIL] == capacity:
            ring.meta[TAIL] = 0
    return expired[:count]


@kernel
def kill(ring: Ring, slots: Int64s) -> Int64s:
    """Mark entries dead before their time (a left row that wanted one partner and has it).

    Slots may repeat; returns each that was alive, once. `block_min` may now be too small, but never too
    large, so expiry skips no block that it must look at. The next expiry that passes it corrects it.
    """
    killed = np.empty(len(slots), np.int64)
    count = 0
    less = np.uint64(0)
    picks = len(ring.best_row) > 0
    for slot in slots:
        entry = ring.entries[slot]
        if entry["time"] != DEAD:
            less += entry_print(slot, entry["time"], entry["row"], entry["tag"])
            if picks:
                less += pick_print(slot, ring.best_time[slot], ring.best_row[slot])
            entry["time"] = DEAD
            killed[count] = slot
            count += 1
    ring.meta[LIVE] -= count
    stamp(ring, np.uint64(0) - less)
    return killed[:count]


@kernel
def mark(ring: Ring, slots: Int64s) -> int:
    """Set the matched bit; negative slots are passed over. Returns how many had not been marked."""
    count = 0
    more = np.uint64(0)
    for slot in slots:
        if slot >= 0 and ring.entries[slot]["row"] & 1 == 0:
            entry = ring.entries[slot]
            row, time, tag = entry["row"], entry["time"], entry["tag"]
            if time != DEAD:
                more += entry_print(slot, time, row | 1, tag) - entry_print(slot, time, row, tag)
            entry["row"] = row | 1
            count += 1
    stamp(ring, more)
    return count


@kernel
def newest_slots(ring: Ring, count: int) -> Int64s:
    """The live entries among those that arrived last, oldest first: `count` slots are looked at."""
    capacity = len(ring.entries)
    looked_at = min(count, ring.meta[USED])
    out = np.empty(looked_at, np.int64)
    found = 0
    slot = ring.meta[HEAD] - looked_at
    if slot < 0:
        slot += capacity
    for _ in range(looked_at):
        if ring.entries[slot]["time"] != DEAD:
            out[found] = slot
            found += 1
        slot += 1
        if slot == capacity:
            slot = 0
    return out[:found]


@kernel
def live_slots(ring: Ring) -> Int64s:
    """All live entries, oldest arrival first."""
    return newest_slots(ring, ring.meta[USED])


@kernel
def refill(ring: Ring, old: Ring) -> np.uint32:
    """Insert the live entries of an old ring, oldest arrival first, without a copy of them in between. Heads
    are read some entries ahead, and what was read is returned, as in `insert`."""
    capacity = len(old.entries)
    mask = np.uint32(len(ring.heads) - 1)
    slot = old.meta[TAIL]
    ahead = slot
    filled = 0
    top = DEAD
    more = np.uint64(0)
    fetched = np.uint32(0)
    used = old.meta[USED]
    for start in range(0, used, INSERT_GROUP):
        stop = min(start + INSERT_GROUP, used)
        for _ in range(start, stop):
            fetched ^= ring.heads[old.entries[ahead]["tag"] & mask]
            ahead += 1
            if ahead == capacity:
                ahead = 0
        for _ in range(start, stop):
            entry = old.entries[slot]
            if entry["time"] != DEAD:
                new = ring.entries[filled]
                new["time"] = entry["time"]
                new["row"] = entry["row"]
                new["tag"] = entry["tag"]
                new["next"] = ring.heads[entry["tag"] & mask]
                ring.heads[entry["tag"] & mask] = np.uint32(filled)
                block = filled // BLOCK_ROWS
                ring.block_min[block] = min(ring.block_min[block], entry["time"])
                top = max(top, entry["time"])
                ring.block_top[block] = top
                if len(ring.best_row) > 0:
                    ring.best_time[filled] = old.best_time[slot]
                    ring.best_row[filled] = old.best_row[slot]
                    more += pick_print(filled, old.best_time[slot], old.best_row[slot])
                more += entry_print(filled, entry["time"], entry["row"], entry["tag"])
                filled += 1
            slot += 1
            if slot == capacity:
                slot = 0
    ring.meta[HEAD] = filled % len(ring.entries)
    ring.meta[USED] = filled
    ring.meta[LIVE] = filled
    stamp(ring, more)
    return fetched


@kernel
def shift(ring: Ring, old: Ring) -> None:
    """Move an old ring into one with more slots and as many heads: all its entries, dead ones too.

    The oldest slot becomes slot 0, so an entry's new slot is its age, and so are the new links and heads.
    Nothing has to be looked up in the heads: this goes through memory in order, where `refill` misses the
    cache with every row. Leftovers become NO_SLOT. The tail is at the start of a block, so blocks keep their
    rows."""
    capacity = np.int64(len(old.entries))
    tail, used = old.meta[TAIL], old.meta[USED]
    picks = len(ring.best_row) > 0
    more = np.uint64(0)
    slot = tail
    for age in range(used):
        entry, new = old.entries[slot], ring.entries[age]
        new["time"] = entry["time"]
        new["row"] = entry["row"]
        new["tag"] = entry["tag"]
        link = np.int64(entry["next"]) - tail
        link += capacity if link < 0 else 0
        new["next"] = np.uint32(link) if entry["next"] != NO_SLOT and link < age else NO_SLOT
        if picks:
            ring.best_time[age] = old.best_time[slot]
            ring.best_row[age] = old.best_row[slot]
        if entry["time"] != DEAD:
            more += entry_print(age, entry["time"], entry["row"], entry["tag"])
            if picks:
                more += pick_print(age, old.best_time[slot], old.best_row[slot])
        slot += 1
        if slot == capacity:
            slot = 0
    for chain in range(len(old.heads)):
        head = np.int64(old.heads[chain]) - tail
        head += capacity if head < 0 else 0
        if old.heads[chain] != NO_SLOT and head < used:
            ring.heads[chain] = np.uint32(head)
    blocks = capacity // BLOCK_ROWS
    for block in range((used + BLOCK_ROWS - 1) // BLOCK_ROWS):
        ring.block_min[block] = old.block_min[(tail // BLOCK_ROWS + block) % blocks]
        ring.block_top[block] = old.block_top[(tail // BLOCK_ROWS + block) % blocks]
    ring.meta[HEAD] = used % len(ring.entries)
    ring.meta[USED] = used
    ring.meta[LIVE] = old.meta[LIVE]
    stamp(ring, more)


@kernel
def rows_at(ring: Ring, slots: Int64s) -> tuple[Int64s, Int64s, Bools]:
    """Row number, event time and matched bit of entries."""
    rows = np.empty(len(slots), np.int64)
    times = np.empty(len(slots), np.int64)
    matched = np.empty(len(slots), np.bool_)
    for i in range(len(slots)):
        entry = ring.entries[slots[i]]
        rows[i] = (entry["row"] & _ROW) >> 1
        times[i] = entry["time"]
        matched[i] = (entry["row"] & 1) == 1
    return rows, times, matched


@kernel
def tags_at(ring: Ring, slots: Int64s) -> UInt32s:
    tags = np.empty(len(slots), np.uint32)
    for i in range(len(slots)):
        tags[i] = ring.entries[slots[i]]["tag"]
    return tags


@kernel
def more_at(ring: Ring, slots: Int64s) -> Bits:
    more = np.empty(len(slots), np.uint16)
    for i in range(len(slots)):
        more[i] = ring.entries[slots[i]]["row"] >> _MORE_AT
    return more


@kernel
def intact(ring: Ring) -> bool:
    """Whether the ring is as the kernels left it: the live entries give the fingerprint, each is found from
    the head of its chain, no link leads out of the arrays, expiry will not pass over a block, and no walk
    will end before it should.

    Links of chains without entries may say anything that stays inside; what they lead to has other tags.
    """
    capacity = np.int64(len(ring.entries))
    tail, used = ring.meta[TAIL], ring.meta[USED]
    sound = 0 <= tail < capacity and tail % BLOCK_ROWS == 0 and 0 <= used <= capacity
    if not sound or ring.meta[HEAD] != (tail + used) % capacity:
        return False
    mask = np.uint32(len(ring.heads) - 1)
    for i in range(len(ring.heads)):
        if ring.heads[i] != NO_SLOT and ring.heads[i] >= capacity:
            return False
    newest = np.full(len(ring.heads), NO_SLOT, np.uint32)  # of each chain, among the slots passed
    live = 0
    total = np.uint64(0)
    picks = len(ring.best_row) > 0
    top = DEAD
    slot = tail
    for _ in range(used):
        entry = ring.entries[slot]
        chain = entry["tag"] & mask
        if entry["next"] != newest[chain] and (newest[chain] != NO_SLOT or entry["next"] >= capacity):
            return False
        newest[chain] = np.uint32(slot)
        if entry["time"] != DEAD:
            live += 1
            total += entry_print(slot, entry["time"], entry["row"], entry["tag"])
            if picks:
                total += pick_print(slot, ring.best_time[slot], ring.best_row[slot])
            top = max(top, entry["time"])
            if ring.block_min[slot // BLOCK_ROWS] > entry["time"] or ring.block_top[slot // BLOCK_ROWS] < top:
                return False
        slot += 1
        if slot == capacity:
            slot = 0
    for i in range(len(ring.heads)):
        if newest[i] != NO_SLOT and newest[i] != ring.heads[i]:
            return False
    return bool(live == ring.meta[LIVE] and np.int64(total) == ring.meta[PRINT])
