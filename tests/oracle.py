"""The oracle: what an interval join must give, by brute force and from the definition alone.

It imports nothing, neither the product nor a library, keeps no state and knows no index: every answer is a
scan over all pairs of rows. A row is `(key, time, id)`; key and time may be None; ids are unique per side.
A result row is `(left id | None, right id | None)`; semi and anti give `(left id, None)`.

In streaming, a step is `(left rows, right rows, (left time, right time))`: the rows that arrive together, and
the two stream times *after* them. NEVER and ENDED are the times before the first row and after the last.
Whether two rows meet depends only on when each arrived and on the stream times just before the later one:

    same step                    they meet
    left waits, right arrives    they meet if the left row is open:       not right time > l.time + after
    right waits, left arrives    they meet if the right row is retained:  r.time >= left time - before
"""
# ruff: noqa: E741  (l and r are the words of the definition)

NEVER, ENDED = float("-inf"), float("inf")

ORDER = {  # of the partners r of l, the one with the smallest value is picked
    "first": lambda l, r: r[2],
    "nearest": lambda l, r: (abs(r[1] - l[1]), r[1], r[2]),
    "earliest": lambda l, r: (r[1], r[2]),
    "latest": lambda l, r: (-r[1], r[2]),
}


def picked(pick, l, partners):
    """The one of the partners of l. A pick is a name, or a function as `by_value` makes it."""
    return pick(l, partners) if callable(pick) else min(partners, key=lambda r: ORDER[pick](l, r))


def by_value(value, largest):
    """Picks the partner with the largest or smallest `value(l, r)`. None loses against anything else, NaN is
    larger than any number, and of equal ones the smallest time decides, then the smallest id."""

    def above(one, other):
        return (str(one) == "nan" != str(other)) or one > other

    def pick(l, partners):
        in_turn = sorted(partners, key=lambda r: (r[1], r[2]))
        valued = [r for r in in_turn if value(l, r) is not None]
        best = (valued or in_turn)[0]
        for r in valued:
            one, other = value(l, r), value(l, best)
            if above(one, other) if largest else above(other, one):
                best = r
        return best

    return pick


def matches(l, r, before, after):
    """The predicate. A null key or a null time matches nothing."""
    if None in (l[0], l[1], r[0], r[1]):
        return False
    return l[0] == r[0] and l[1] - before <= r[1] <= l[1] + after


def admissible(left, right, before, after):
    """Left id -> the set of right ids that it may be joined with."""
    return {l[2]: {r[2] for r in right if matches(l, r, before, after)} for l in left}


def batch_join(left, right, before, after, how, match="all", pick="first"):
    """The join of two finished streams, sorted. Which partner comes first depends on the arrival, which batch
    does not know: for `one` with `first`, see `admissible`."""
    partners = [(l, [r for r in right if matches(l, r, before, after)]) for l in left]
    if how in ("semi", "anti"):
        return in_order((l[2], None) for l, found in partners if bool(found) == (how == "semi"))
    if match == "one":
        assert pick != "first", "batch does not determine the first partner found"
        partners = [(l, [picked(pick, l, found)] if found else []) for l, found in partners]
    rows = [(l[2], r[2]) for l, found in partners for r in found]
    taken = {r for _, r in rows}
    if how in ("left", "full"):
        rows += [(l[2], None) for l, found in partners if not found]
    if how in ("right", "full"):
        rows += [(None, r[2]) for r in right if r[2] not in taken]
    return in_order(rows)


def streaming_join(steps, before, after, how, match="all", pick="first"):
    """The rows that each step emits, late rows included: one sorted list per step."""
    emitted = [[] for _ in steps]
    taken = set()
    for came, l in arrivals(steps, 0):
        met = [(max(came, c), r) for c, r in arrivals(steps, 1) if meet(steps, came, l, c, r, before, after)]
        met.sort(key=lambda found: (found[0], found[1][2]))
        closed = close_step(steps, came, l, after)
        if not met:
            if how in ("left", "full", "anti") and closed is not None:
                emitted[closed].append((l[2], None))
        elif how == "semi":
            emitted[met[0][0]].append((l[2], None))
        elif how != "anti":
            if match == "one" and pick == "first":
                met = met[:1]
            elif match == "one":
                best = picked(pick, l, [r for _, r in met])
                met = [(closed, best)] if closed is not None else []
            for step, r in met:
                emitted[step].append((l[2], r[2]))
                taken.add(r[2])
    for came, r in arrivals(steps, 1):
        evicted = evict_step(steps, came, r, before, after, defers_pick(how, match, pick))
        if how in ("right", "full") and r[2] not in taken and evicted is not None:
            emitted[evicted].append((None, r[2]))
    return [in_order(rows) for rows in emitted]


def capped_join(steps, before, after, how, match, pick, left_cap, right_cap):
    """As `streaming_join`, with at most `left_cap` and `right_cap` rows of a key held on each side. Beyond
    that the row with the smallest time, then the smallest id, leaves as if its time had come. Also how many
    left that way, by side."""
    waiting, held, taken, emitted, capped = [], [], set(), [], [0, 0]
    seen_until = NEVER
    for lefts, rights, (left_time, right_time) in steps:
        came = [r for r in rights if None not in r[:2]]
        visible = [r for r in held if r[1] >= seen_until - before] + came
        out = [(l[2], None) for l in lefts if None in l[:2] and how in ("left", "full", "anti")]
        out += [(None, r[2]) for r in rights if None in r[:2] and how in ("right", "full")]
        meetings = [(l, met, came) for l, met in waiting]
        meetings += [(l, [], visible) for l in lefts if None not in l[:2]]
        waiting = []
        for l, met, there in meetings:
            found = sorted((r for r in there if matches(l, r, before, after)), key=lambda r: r[2])
            if how in ("semi", "anti"):
                done = bool(found)
                out += [(l[2], None)] if found and how == "semi" else []
            elif defers_pick(how, match, pick):
                done = False
            else:
                done = match == "one" and bool(found)
                out += [(l[2], r[2]) for r in (found[:1] if match == "one" else found)]
                taken |= {r[2] for r in (found[:1] if match == "one" else found)}
            if not done:
                waiting.append((l, met + found))
        resolved = [(l, met) for l, met in waiting if right_time > l[1] + after]
        waiting = [(l, met) for l, met in waiting if not right_time > l[1] + after]
        surplus = oldest_beyond([l for l, _ in waiting], left_cap)
        capped[0] += len(surplus)
        resolved += [(l, met) for l, met in waiting if l in surplus]
        waiting = [(l, met) for l, met in waiting if l not in surplus]
        for l, met in resolved:
            if met and defers_pick(how, match, pick):
                best = picked(pick, l, met)
                out.append((l[2], best[2]))
                taken.add(best[2])
            elif not met and how in ("left", "full", "anti"):
                out.append((l[2], None))
        held += came
        late = how in ("right", "full") and defers_pick(how, match, pick)
        evicted = [
            r for r in held if r[1] < left_time - before and (not late or right_time > r[1] + before + after)
        ]
        held = [r for r in held if r not in evicted]
        surplus = oldest_beyond(held, right_cap)
        capped[1] += len(surplus)
        held = [r for r in held if r not in surplus]
        if how in ("right", "full"):
            out += [(None, r[2]) for r in evicted + surplus if r[2] not in taken]
        seen_until = left_time
        emitted.append(in_order(out))
    return emitted, tuple(capped)


def oldest_beyond(rows, cap):
    """For each key the rows that are more than `cap`, oldest first; None: no cap."""
    found = []
    for key in {row[0] for row in rows}:
        ordered = sorted((row for row in rows if row[0] == key), key=lambda row: (row[1], row[2]))
        found += ordered[: max(0, len(ordered) - cap)] if cap is not None else []
    return found


def waiting(steps, before, after, how, match="all", pick="first"):
    """After each step: (left rows that wait, right rows that may yet be found or picked). A left row waits
    while it is open, but one that wants a single partner no longer than until it has met one."""
    once = how in ("semi", "anti") or (match == "one" and pick == "first")
    deferred = how in ("right", "full") and defers_pick(how, match, pick)
    lefts, rights = [], []
    for came, l in arrivals(steps, 0):
        gone = close_step(steps, came, l, after)
        met = [max(came, c) for c, r in arrivals(steps, 1) if meet(steps, came, l, c, r, before, after)]
        lefts.append((came, min(met) if once and met else gone))
    for came, r in arrivals(steps, 1):
        rights.append((came, evict_step(steps, came, r, before, after, deferred)))

    def inside(stays, n):
        return sum(came <= n and (gone is None or n < gone) for came, gone in stays)

    return [(inside(lefts, n), inside(rights, n)) for n in range(len(steps))]


def defers_pick(how, match, pick):
    return match == "one" and pick != "first" and how not in ("semi", "anti")


def arrivals(steps, side):
    return [(n, row) for n, step in enumerate(steps) for row in step[side]]


def meet(steps, left_came, l, right_came, r, before, after):
    if not matches(l, r, before, after):
        return False
    if left_came < right_came:
        return not steps[right_came - 1][2][1] > l[1] + after
    if right_came < left_came:
        return r[1] >= steps[left_came - 1][2][0] - before
    return True


def close_step(steps, came, l, after):
    """The step at whose end `l` is no longer open: its first, if it can match nothing; None if it is open."""
    hopeless = l[0] is None or l[1] is None
    return next((n for n in range(came, len(steps)) if hopeless or steps[n][2][1] > l[1] + after), None)


def evict_step(steps, came, r, before, after, deferred):
    """The step at whose end `r` is no longer retained, None if it is. Where picks are deferred, it waits
    for the last left row that may pick it, which has the time `r.time + before`, to close."""
    for n in range(came, len(steps)):
        left_time, right_time = steps[n][2]
        if r[0] is None or r[1] is None:
            return n
        if r[1] < left_time - before and (not deferred or right_time > r[1] + before + after):
            return n
    return None


def in_order(rows):
    return sorted(rows, key=lambda row: [(i is None, i or 0) for i in row])


def window_pairs(left, right):
    """The join within one window: (left row, right row) for every two equal keys."""
    return [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a == b]
