"""The oracle of window joins: what they must give, by brute force and from the definition alone.

It imports nothing. A row is `(key, time, id)`; key and time may be None. A window is asked for as
`("tumbling", length)`, `("hopping", length, every)` or `("session", gap, longest)`. A result row is `(left id
| None, right id | None, window start | None, window end | None)`; semi and anti give `(left id, None, ..)`.

A row joins in every window that holds it. With a `pick`, a left row has at most one partner in each. Sessions
are made of the rows of a key on both sides: sorted by time, one goes on while the next row is at most `gap`
after the last and at most `longest` after the first.

In streaming, a step is `(left rows, right rows, (left time, right time))`, the times *after* the rows. A
window is over as soon as both times have come to its end (of a session: have passed its last row by more than
the gap, or its first by more than the longest it may last). A row that comes later is alone in that window.
"""
# ruff: noqa: E741  (l and r are the words of the definition)

NEVER, ENDED = float("-inf"), float("inf")
PICKS = {
    "first": lambda l, r: r[2],
    "nearest": lambda l, r: (abs(r[1] - l[1]), r[1], r[2]),
    "earliest": lambda l, r: (r[1], r[2]),
    "latest": lambda l, r: (-r[1], r[2]),
}


def batch_join(left, right, window, how, pick=None):
    """The join of two finished streams, sorted."""
    out = void_rows(left, right, how)
    left, right = usable(left), usable(right)
    if window[0] == "session":
        for rows, bounds in sessions(left, right, window):
            out += joined(rows, bounds, how, pick)
    else:
        for start, end in {w for row in left + right for w in windows_of(row[1], window)}:
            rows = [[row for row in side if start <= row[1] < end] for side in (left, right)]
            for key in {row[0] for side in rows for row in side}:
                of_key = [[row for row in side if row[0] == key] for side in rows]
                out += joined(of_key, (start, end), how, pick)
    return in_order(out)


def streaming_join(steps, window, how, eager=False, pick=None):
    """The rows that each step emits, late rows included: one sorted list per step."""
    if window[0] == "session":
        return streaming_sessions(steps, window, how, pick)
    emitted = [void_rows(lefts, rights, how) for lefts, rights, _ in steps]
    passed = [NEVER, *(min(until) for _, _, until in steps)]  # before step n
    rows = [[(n, row) for n, step in enumerate(steps) for row in usable(step[side])] for side in (0, 1)]
    for bounds in {w for side in rows for _, row in side for w in windows_of(row[1], window)}:
        start, end = bounds
        over = next((n for n in range(len(steps)) if passed[n + 1] >= end), None)
        inside = [[(n, row) for n, row in side if start <= row[1] < end] for side in rows]
        for side, kept in ((0, ("left", "full", "anti")), (1, ("right", "full"))):
            for n, row in inside[side]:
                if passed[n] >= end and how in kept:
                    emitted[n].append(lone(side, row, bounds))
        there = [[(n, row) for n, row in side if passed[n] < end] for side in inside]
        if eager:
            for n, l in there[0]:
                for m, r in there[1]:
                    if l[0] == r[0]:
                        emitted[max(n, m)].append((l[2], r[2], *bounds))
        elif over is not None:
            for key in {row[0] for side in there for _, row in side}:
                of_key = [[row for _, row in side if row[0] == key] for side in there]
                emitted[over] += joined(of_key, bounds, how, pick)
    return [in_order(rows) for rows in emitted]


def held(steps, window):
    """After each step: how many rows of each side are in a window that is not over."""
    counts, passed = [], NEVER
    came = [[], []]
    for lefts, rights, until in steps:
        for side, rows in enumerate((lefts, rights)):
            came[side] += [
                row for row in usable(rows) if any(end > passed for _, end in windows_of(row[1], window))
            ]
        passed = min(until)
        for side in (0, 1):
            came[side] = [
                row for row in came[side] if any(end > passed for _, end in windows_of(row[1], window))
            ]
        counts.append((len(came[0]), len(came[1])))
    return counts


def streaming_sessions(steps, window, how, pick):
    _, gap, longest = window
    emitted, passed, waiting = [], NEVER, [[], []]
    for lefts, rights, until in steps:
        out = void_rows(lefts, rights, how)
        for side, rows in enumerate((lefts, rights)):
            for row in usable(rows):
                if row[1] + gap < passed:
                    if how in (("left", "full", "anti"), ("right", "full"))[side]:
                        out.append(lone(side, row, (row[1], row[1] + gap)))
                else:
                    waiting[side].append(row)
        passed = max(passed, min(until))
        for rows, (start, end) in sessions(*waiting, window):
            if end < passed or start + longest < passed:
                out += joined(rows, (start, end), how, pick)
                waiting = [
                    [row for row in all_ if row not in gone] for all_, gone in zip(waiting, rows, strict=True)
                ]
        emitted.append(in_order(out))
    return emitted


def sessions(left, right, window):
    """([left rows, right rows], (start, end)) of every session."""
    _, gap, longest = window
    found = []
    for key in {row[0] for row in left + right}:
        rows = sorted(
            [(row[1], 0, row) for row in left if row[0] == key]
            + [(row[1], 1, row) for row in right if row[0] == key]
        )
        open_ = []
        for entry in [*rows, None]:
            if open_ and (entry is None or entry[0] - open_[-1][0] > gap or entry[0] - open_[0][0] > longest):
                sides = [[row for _, of, row in open_ if of == side] for side in (0, 1)]
                found.append((sides, (open_[0][0], open_[-1][0] + gap)))
                open_ = []
            open_.append(entry)
    return found


def windows_of(time, window):
    """The bounds of every window that holds a time."""
    length, every = window[1], window[-1]
    return [
        (n * every, n * every + length)
        for n in range((time - length) // every - 1, time // every + 2)
        if n * every <= time < n * every + length
    ]


def joined(sides, bounds, how, pick=None, served=(), taken=()):
    """Rows of one key in one window. `pick`: by which rule a left row takes one partner; None: it takes all.
    `served` and `taken`: left and right rows that have come out in pairs of the window before."""
    left, right = sides
    if how in ("semi", "anti"):
        return [(l[2], None, *bounds) for l in left if bool(right) == (how == "semi")]
    pairs = [(l, r) for l in left for r in right]
    if pick is not None:
        free = [l for l in left if right and l[2] not in served]
        pairs = [(l, min(right, key=lambda r: PICKS[pick](l, r))) for l in free]
    out = [(l[2], r[2], *bounds) for l, r in pairs]
    if how in ("left", "full") and not right:
        out += [(l[2], None, *bounds) for l in left]
    if how in ("right", "full"):
        paired = {r[2] for _, r in pairs}.union(taken)
        out += [(None, r[2], *bounds) for r in right if r[2] not in paired]
    return out


def lone(side, row, bounds):
    return (None, row[2], *bounds) if side else (row[2], None, *bounds)


def void_rows(left, right, how):
    """Rows without a key or a time: alone, in no window."""
    out = [lone(0, l, (None, None)) for l in left if None in l[:2] and how in ("left", "full", "anti")]
    return out + [lone(1, r, (None, None)) for r in right if None in r[:2] and how in ("right", "full")]


def usable(rows):
    return [row for row in rows if None not in row[:2]]


def in_order(rows):
    return sorted(rows, key=lambda row: [(i is None, i or 0) for i in row])
