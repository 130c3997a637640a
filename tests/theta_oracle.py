"""What a theta join must give, from the definition alone: plain loops over all pairs, nothing of the product.

A row is (value, time, id); `holds(l, r)` is the condition on the two values, which are never None there. A
step is (left rows, right rows, (left time, right time)): new rows, and the stream times after it. For
windows that count rows a step is a list of turns, (side, rows), and whether it ends both streams.
"""
# ruff: noqa: E741  (l and r are the words of the definition)

ORDER = {
    "first": lambda l, r: r[2],
    "nearest": lambda l, r: (abs(r[1] - l[1]), r[1], r[2]),
    "earliest": lambda l, r: (r[1], r[2]),
    "latest": lambda l, r: (-r[1], r[2]),
}


def in_order(rows):
    return sorted(rows, key=lambda row: [(i is None, i or 0) for i in row])


def fits(holds, l, r):
    return l[0] is not None and r[0] is not None and bool(holds(l[0], r[0]))


def batch_join(left, right, holds, before, after, how):
    """Of two finished streams, all partners."""
    met = [(l, [r for r in right if near(l, r, before, after) and fits(holds, l, r)]) for l in left]
    if how in ("semi", "anti"):
        return in_order((l[2], None) for l, found in met if bool(found) == (how == "semi"))
    rows = [(l[2], r[2]) for l, found in met for r in found]
    rows += [(l[2], None) for l, found in met if not found and how in ("left", "full")]
    return in_order(rows + [(None, r) for r in alone(rows, right) if how in ("right", "full")])


def near(l, r, before, after):
    return l[1] is not None and r[1] is not None and l[1] - before <= r[1] <= l[1] + after


def timed_join(steps, holds, before, after, how, match="all", pick="first"):
    """The rows that each step emits: a new left row sees the right rows of its step and those retained, a new
    right row sees the left rows that were open."""
    emitted = [[] for _ in steps]
    lefts = [(n, row) for n, step in enumerate(steps) for row in step[0]]
    rights = [(n, row) for n, step in enumerate(steps) for row in step[1]]
    for came, l in lefts:
        met = []
        for arrived, r in rights:
            if not near(l, r, before, after) or not fits(holds, l, r):
                continue
            if came < arrived and steps[arrived - 1][2][1] > l[1] + after:
                continue  # l was closed
            if arrived < came and r[1] < steps[came - 1][2][0] - before:
                continue  # r was evicted
            met.append((max(came, arrived), r))
        closed = next(
            (n for n in range(came, len(steps)) if l[1] is None or steps[n][2][1] > l[1] + after), None
        )
        decide(emitted, l, sorted(met, key=lambda found: (found[0], found[1][2])), closed, how, match, pick)
    if how in ("right", "full"):
        lone = alone((row for rows in emitted for row in rows), [r for _, r in rights])
        waits = match == "one" and pick != "first"
        for arrived, r in rights:
            gone = (n for n in range(arrived, len(steps)) if evicted(r, steps[n][2], before, after, waits))
            if r[2] in lone and (step := next(gone, None)) is not None:
                emitted[step].append((None, r[2]))
    return [in_order(rows) for rows in emitted]


def evicted(r, until, before, after, waits):
    """`waits`: left rows that are open may still pick it when they close."""
    if r[1] is None or r[1] >= until[0] - before:
        return r[1] is None
    return not waits or r[1] < until[1] - before - after


def alone(rows, right):
    paired = {r for _, r in rows if r is not None}
    return [r[2] for r in right if r[2] not in paired]


def counted_join(steps, holds, left_rows, right_rows, how, match="all"):
    """The rows that each step emits, where a row sees the last `left_rows` or `right_rows` of the other
    side."""
    emitted = [[] for _ in steps]
    entered = []  # (step, side, row), in the order of entering
    for n, (turns, _) in enumerate(steps):
        entered += [(n, side, row) for side, rows in turns for row in rows]
    last = {"left": left_rows, "right": right_rows}
    ends = [n for n, (_, ended) in enumerate(steps) if ended]
    for i, (n, side, l) in enumerate(entered):
        if side != "left":
            continue
        after = [j for j in range(i + 1, len(entered)) if entered[j][1] == "left"]
        closed = [entered[after[left_rows - 1]][0]] if len(after) >= left_rows else []
        closed = min([*closed, *(end for end in ends if end >= n)], default=None)
        met = []
        for j, (m, other, r) in enumerate(entered):
            if other != "right" or not fits(holds, l, r) or any(min(n, m) <= end < max(n, m) for end in ends):
                continue
            first, later = min(i, j), max(i, j)
            between = [k for k in range(first + 1, later) if entered[k][1] == entered[first][1]]
            if len(between) < last[entered[first][1]]:
                met.append((later, m if j > i else n, r))
        met = [(step, r) for _, step, r in sorted(met, key=lambda found: (found[0], found[2][2]))]
        decide(emitted, l, met, closed, how, match, "first")
    if how in ("right", "full"):
        rights = [(n, row) for n, side, row in entered if side == "right"]
        lone = alone((row for rows in emitted for row in rows), [r for _, r in rights])
        for i, (n, r) in enumerate(rights):
            pushed = [rights[i + right_rows][0]] if i + right_rows < len(rights) else []
            gone = min([*pushed, *(end for end in ends if end >= n)], default=None)
            if r[2] in lone and gone is not None:
                emitted[gone].append((None, r[2]))
    return [in_order(rows) for rows in emitted]


def decide(emitted, l, met, closed, how, match, pick):
    """`met`: (step, right row), first met first."""
    if not met:
        if how in ("left", "full", "anti") and closed is not None:
            emitted[closed].append((l[2], None))
    elif how == "semi":
        emitted[met[0][0]].append((l[2], None))
    elif how != "anti":
        if match == "one" and pick == "first":
            met = met[:1]
        elif match == "one":
            partners = [r for _, r in met]
            best = pick(l, partners) if callable(pick) else min(partners, key=lambda r: ORDER[pick](l, r))
            met = [(closed, best)] if closed is not None else []
        for step, r in met:
            emitted[step].append((l[2], r[2]))
