"""The oracle of an interval join that is changed while it runs: brute force, and the rules alone.

As `oracle.py`, it imports nothing of the product. `Spec` is what the join means; rows, steps and results are
written as there. A join is `step`ped and `change`d; each says what comes out, sorted. What a change does to
rows in flight is one sentence for each case, in the comments of `change`.
"""
# ruff: noqa: E741  (l and r are the words of the definition)

from collections import namedtuple

import theta_oracle
import windows_oracle
from oracle import NEVER, defers_pick, in_order, oldest_beyond, picked

ANSWERED = (None, NEVER, None)  # in place of a partner: the row had an answer that is not known any more
Spec = namedtuple("Spec", "before after how match pick left_cap right_cap", defaults=(None, None))


class ChangingJoin:
    def __init__(self, spec):
        self.spec = spec
        self.times = (NEVER, NEVER)
        self.open = []  # (left row, the partners it has met)
        self.held = []
        self.arrived = []  # right rows with a key and a time, all that ever came
        self.taken = set()  # right rows that have come out in a pair
        self.pairs_only = set()  # right rows that do not come out alone, whatever happens

    def step(self, lefts, rights, until):
        spec = self.spec
        came = [r for r in rights if self.usable(r)]
        visible = [r for r in self.held if r[1] >= self.times[0] - spec.before] + came
        out = [(l[2], None) for l in lefts if not self.usable(l) and spec.how in ("left", "full", "anti")]
        out += [(None, r[2]) for r in rights if not self.usable(r) and spec.how in ("right", "full")]
        meetings = [(l, met, self._partners(l, came)) for l, met in self.open]
        meetings += [(l, [], self._partners(l, visible)) for l in lefts if self.usable(l)]
        self.held = self.held + came
        self.arrived = self.arrived + came
        self.times = until
        return in_order(out + self._settle(meetings))

    def change(self, spec, first=0):
        """`first`: the log has no right row with a smaller number."""
        old, self.spec = self.spec, spec
        there = [r for r in self.arrived if r[2] >= first]
        meetings = []
        for l, met in self.open:
            # Pairs of the old window have come out, or were found to be none: the added part is looked at.
            new = [r for r in self._partners(l, there) if not near(l, r, old)]
            if met and defers_pick(*old[2:5]):
                pick = picked(old.pick, l, met)
                stays = near(l, pick, spec)
                if stays and (not waits_for_all(spec) and not defers_pick(*spec[2:5])):
                    meetings.append((l, [], [pick]))  # it comes out now
                elif stays and defers_pick(*spec[2:5]) and spec.pick == old.pick:
                    meetings.append((l, [pick], new))  # it stays picked, until a better one comes
                else:
                    meetings.append((l, [], self._partners(l, there)))  # nothing has come out: all afresh
            elif met and not waits_for_all(spec):
                pass  # it has had a partner, and is done
            else:
                meetings.append((l, met, new))
        if spec.how in ("right", "full") and old.how not in ("right", "full"):
            self.pairs_only |= {r[2] for r in self.held}  # they come out in pairs only
        back = [r for r in there if r not in self.held]
        self.pairs_only |= {r[2] for r in back}  # they may have come out before
        self.held = self.held + back
        return in_order(self._settle(meetings))

    def fill(self, lefts, rights, until, marks=True):
        """Rows from before a join began afresh: nothing comes out. `marks`: two of them have met by the join
        before it, and those without a partner have come out alone."""
        self.step(lefts, rights, until)
        if marks:
            self.open = [(l, met or [ANSWERED]) for l, met in self.open]
            self.pairs_only |= {r[2] for r in self.held}

    def waiting(self):
        """The numbers of left rows that are open and have had no answer."""
        return {l[2] for l, met in self.open if not met or defers_pick(*self.spec[2:5])}

    def usable(self, row):
        """A row without a key or a time can match nothing."""
        return None not in row[:2]

    def fits(self, l, r):
        return l[0] == r[0]

    def _partners(self, l, rows):
        return [r for r in rows if near(l, r, self.spec) and self.fits(l, r)]

    def _settle(self, meetings):
        """`meetings`: left rows, whom they had met, and whom they meet now. Then the bounds and caps hold."""
        (before, after, *how, left_cap, right_cap), (left_time, right_time) = self.spec, self.times
        out, waiting, resolved = [], [], []
        for l, met, found in meetings:
            done = False
            if how[0] in ("semi", "anti"):
                done = bool(found)
                out += [(l[2], None)] if found and how[0] == "semi" else []
            elif not defers_pick(*how):
                chosen = found if how[1] == "all" else sorted(found, key=lambda r: r[2])[:1]
                done = how[1] == "one" and bool(found)
                out += [(l[2], r[2]) for r in chosen]
                self.taken |= {r[2] for r in chosen}
            if not done:
                (resolved if right_time > l[1] + after else waiting).append((l, met + found))
        surplus = oldest_beyond([l for l, _ in waiting], left_cap)
        resolved += [(l, met) for l, met in waiting if l in surplus]
        self.open = [(l, met) for l, met in waiting if l not in surplus]
        for l, met in resolved:
            if met and defers_pick(*how):
                best = picked(how[2], l, met)
                out.append((l[2], best[2]))
                self.taken.add(best[2])
            elif not met and how[0] in ("left", "full", "anti"):
                out.append((l[2], None))
        late = how[0] in ("right", "full") and defers_pick(*how)
        gone = [
            r
            for r in self.held
            if r[1] < left_time - before and (not late or right_time > r[1] + before + after)
        ]
        gone += oldest_beyond([r for r in self.held if r not in gone], right_cap)
        self.held = [r for r in self.held if r not in gone]
        if how[0] in ("right", "full"):
            out += [(None, r[2]) for r in gone if r[2] not in self.taken | self.pairs_only]
        return out


class ChangingTheta(ChangingJoin):
    """Any condition in place of equal keys: rows are (value, time, id), `holds(l, r)` is asked of the values.
    There are no caps."""

    def __init__(self, spec, holds):
        super().__init__(spec)
        self.holds = holds
        self.lefts = []

    def usable(self, row):
        return row[1] is not None

    def fits(self, l, r):
        return theta_oracle.fits(self.holds, l, r)

    def step(self, lefts, rights, until):
        self.lefts = self.lefts + [l for l in lefts if self.usable(l)]
        return super().step(lefts, rights, until)

    def change(self, spec, holds, first=0, left_first=0):
        """`left_first`: as `first`, for left rows."""
        if only_pairs(self.spec) and not only_pairs(spec):
            # It was not kept whom left rows have met: the old condition is asked again, of what is there.
            there = [r for r in self.arrived if r[2] >= first]
            self.open = [(l, self._partners(l, there)) for l, _ in self.open]
        if only_pairs(spec):
            # Left rows whose window is open take part, whatever became of them.
            known = {l[2]: met for l, met in self.open}
            there = [l for l in self.lefts if l[2] >= left_first]
            self.open = [(l, known.get(l[2], [])) for l in there if not self.times[1] > l[1] + spec.after]
            if not defers_pick(*self.spec[2:5]):
                self.open = [(l, []) for l, _ in self.open]
        self.holds = holds
        return super().change(spec, first)


class ChangingCounts:
    """A join in a window that counts rows, with any condition: `spec` is (left rows, right rows, how,
    match)."""

    def __init__(self, spec, holds):
        self.spec, self.holds = spec, holds
        self.entered = {"left": [], "right": []}
        self.open = []  # (left row, whether it has had a partner)
        self.held = []
        self.pairs_only = set()  # right rows that do not come out alone: they have had a partner, or may have

    def step(self, turns, ended):
        _, right_rows, how, _ = self.spec
        out = []
        for side, rows in turns:
            self.entered[side] += rows
            if side == "left":
                meetings = [(l, False, self._partners(l, self.held)) for l in rows]
                out += self._settle([(l, met, []) for l, met in self.open] + meetings)
            else:
                out += self._settle([(l, met, self._partners(l, rows)) for l, met in self.open])
                out += self._hold(self.held + list(rows), right_rows)
        if ended:
            out += [(l[2], None) for l, met in self.open if not met and how in ("left", "full", "anti")]
            out += self._hold(self.held, 0)
            self.open, self.held, self.entered = [], [], {"left": [], "right": []}
        return in_order(out)

    def change(self, spec, holds, first=0, left_first=0):
        """Rows look at each other when they enter, so no pair comes out. What had gone is there again for
        rows that come later: right rows, and left rows of a join that only lets pairs out."""
        old, self.spec, self.holds = self.spec, spec, holds
        pairs_only = ("inner", "all")
        if old[2:] == pairs_only != spec[2:]:
            self.open = [(l, True) for l, _ in self.open]  # whether they had one is not known
        if spec[2:] == pairs_only:
            there = [l for l in self.entered["left"] if l[2] >= left_first]
            self.open = [(l, False) for l in there[-spec[0] :]]
        elif spec[2:] not in (("left", "all"), ("full", "all")):
            self.open = [(l, met) for l, met in self.open if not met]
        # Those that are there again have had their answer; of the others it is known if it mattered.
        known = self.held if old[2] in ("right", "full") else []
        there = [r for r in self.entered["right"] if r[2] >= first]
        self.pairs_only |= {r[2] for r in there if r not in known}
        out = self._settle([(l, met, []) for l, met in self.open])
        return in_order(out + self._hold(there, spec[1]))

    def _hold(self, rights, count):
        """The last of the rows; the others have come to the end of their window."""
        gone = rights[: max(0, len(rights) - count)]
        self.held = rights[len(gone) :]
        if self.spec[2] not in ("right", "full"):
            return []
        return [(None, r[2]) for r in gone if r[2] not in self.pairs_only]

    def _partners(self, l, rows):
        return [r for r in rows if theta_oracle.fits(self.holds, l, r)]

    def _settle(self, meetings):
        left_rows, _, how, match = self.spec
        out, stay = [], []
        for l, met, found in meetings:
            all_of_them = how not in ("semi", "anti") and match == "all"
            chosen = found if all_of_them else sorted(found, key=lambda r: r[2])[:1]
            if how not in ("semi", "anti"):
                out += [(l[2], r[2]) for r in chosen]
                self.pairs_only |= {r[2] for r in chosen}
            elif found and how == "semi":
                out.append((l[2], None))
            if not found or all_of_them:
                stay.append((l, met or bool(found)))
        young = {l[2] for l in self.entered["left"][-left_rows:]}
        lone = how in ("left", "full", "anti")
        out += [(l[2], None) for l, met in stay if l[2] not in young and not met and lone]
        self.open = [(l, met) for l, met in stay if l[2] in young]
        return out


class ChangingWindows:
    """A join in tumbling or hopping windows whose type changes, when its pairs come out, or how many partners
    a left row has."""

    def __init__(self, window, how, eager, pick=None):
        self.window, self.how, self.eager, self.pick = window, how, eager, pick
        self.passed = NEVER
        self.open = {}  # by key and window: left and right rows
        self.out = set()  # pairs that have come out

    def step(self, lefts, rights, until):
        out = windows_oracle.void_rows(lefts, rights, self.how)
        for side, rows in enumerate((lefts, rights)):
            for row in windows_oracle.usable(rows):
                for bounds in windows_oracle.windows_of(row[1], self.window):
                    if bounds[1] > self.passed:
                        self.open.setdefault((row[0], bounds), ([], []))[side].append(row)
                    elif self.how in (("left", "full", "anti"), ("right", "full"))[side]:
                        out.append(windows_oracle.lone(side, row, bounds))
        out += self._pairs() if self.eager else []
        self.passed = max(self.passed, min(until))
        for key, bounds in [place for place in self.open if place[1][1] <= self.passed]:
            sides = self.open.pop((key, bounds))
            served = {l for l, _, *of in self.out if tuple(of) == bounds}
            taken = {r for _, r, *of in self.out if tuple(of) == bounds}
            found = windows_oracle.joined(sides, bounds, self.how, self.pick, served, taken)
            out += [
                row for row in found if row not in self.out and (self.how != "semi" or row[0] not in served)
            ]
        return windows_oracle.in_order(out)

    def fill(self, lefts, rights, until, marks=True):
        """Rows from before the join began afresh. `marks`: two of them have met by the join before it."""
        self.step(lefts, rights, until)
        if marks:
            self._pairs()

    def change(self, how, eager, pick=None):
        """A window that is open is joined as the new join says. Pairs that have come out do not again, and a
        left row that takes one partner has had it."""
        self.how, self.eager, self.pick = how, eager, pick
        return windows_oracle.in_order(self._pairs() if eager else [])

    def _pairs(self):
        found = {
            row
            for (_, bounds), sides in self.open.items()
            for row in windows_oracle.joined(sides, bounds, "inner")
        }
        new, self.out = found - self.out, self.out | found
        return list(new)


def near(l, r, spec):
    return l[1] - spec.before <= r[1] <= l[1] + spec.after


def only_pairs(spec):
    return spec[2:4] == ("inner", "all")


def waits_for_all(spec):
    return spec.match == "all" and spec.how not in ("semi", "anti")
