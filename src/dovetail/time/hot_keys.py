"""Law: which keys are hot is a function of the commits taken so far, and changes seldom.

Beyond the paper, whose section 6.6 only caps hot keys. Commits name their frequent keys. Their counts fade
with a half-life, so that a key that was hot last week is forgotten. A key becomes hot when it makes up half
of a task's fair share of the rows, and cools only far below that, because every change means reading the
key's rows from the log again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail.errors import CorruptFile
from dovetail.model import json_values
from dovetail.model.frequent_key import FrequentKey
from dovetail.model.interval import IntervalSpec
from dovetail.model.share import HotKey, Side

HALF_LIFE_ROWS = 1 << 19
FEWEST_ROWS = 1 << 15
"""With fewer rows than this (fading as the counts do) no key becomes hot or cools."""
SMALLEST_SHARE = 0.02
COOLING = 4
"""A hot key cools when its share is this many times smaller than the share that made it hot."""
FORGOTTEN_ROWS = 16


@dataclass(frozen=True)
class Heat:
    """Fading counts of all rows, and of the left and right rows of each frequent key."""

    rows: float = 0.0
    keys: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": round(self.rows, 1),
            "keys": [[key, round(left, 1), round(right, 1)] for key, (left, right) in self.keys.items()],
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any] | None) -> Heat:
        """Raises ValueError, KeyError or TypeError for anything that `to_json` cannot have made."""
        if said is None:
            return cls()
        keys = {
            json_values.time_us(key): (json_values.real(left), json_values.real(right))
            for key, left, right in json_values.items(said["keys"])
        }
        return cls(json_values.real(said["rows"]), keys)


def saved_heat(saved: Mapping[str, Any] | None) -> Heat:
    """The heat that an offset has saved."""
    try:
        return Heat.from_json(saved)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptFile(
            f"the saved counts of frequent keys cannot be read: {error}",
            where="Spark's offset log",
            hint="restore the application's checkpoints from a copy of the home, or start in a new home",
        ) from error


def splittable(spec: IntervalSpec) -> bool:
    """Whether rows of one key may be spread over tasks. Each left row must decide alone, so unmatched
    right rows cannot be kept, and nothing may be counted by key."""
    return not spec.keeps_right and spec.left_cap is None and spec.right_cap is None


def warmed(heat: Heat, rows: int, left: Sequence[FrequentKey], right: Sequence[FrequentKey]) -> Heat:
    """The counts after more rows, with these frequent keys among them."""
    fading = 0.5 ** (rows / HALF_LIFE_ROWS)
    counts = {key: [one * fading, other * fading] for key, (one, other) in heat.keys.items()}
    for side, keys in enumerate((left, right)):
        for key in keys:
            counts.setdefault(key.hash, [0.0, 0.0])[side] += key.rows
    kept = {key: (one, other) for key, (one, other) in sorted(counts.items()) if one + other > FORGOTTEN_ROWS}
    return Heat(heat.rows * fading + rows, kept)


def hot_keys(heat: Heat, known: Sequence[HotKey], spec: IntervalSpec, tasks: int) -> tuple[HotKey, ...]:
    """The keys to split over `tasks`, given those that are split now."""
    if tasks < 2 or not splittable(spec):
        return ()
    if heat.rows < FEWEST_ROWS:
        return tuple(known)
    warm = max(SMALLEST_SHARE, 0.5 / tasks) * heat.rows
    before = {key.hash: key for key in known}
    # Tasks recognize a hot key by its tag and bucket. If two hot keys shared both, their rows would reach a
    # task once for each, and pairs would come out twice. So of keys with one tag only one may be hot.
    tags = {key.tag for key in known}
    found = []
    for key, (left, right) in heat.keys.items():
        if key in before:
            if left + right > warm / COOLING:
                found.append(before[key])
        elif left + right > warm:
            hot = HotKey(key, _dealt(spec, left, right))
            if hot.tag not in tags:
                tags.add(hot.tag)
                found.append(hot)
    return tuple(found)


def still_split(known: Sequence[HotKey], spec: IntervalSpec) -> tuple[HotKey, ...]:
    """Those of the keys that are split now which a join that becomes this one may go on splitting."""
    if not splittable(spec):
        return ()
    return tuple(key for key in known if key.dealt == "left" or _copies_left(spec))


def _copies_left(spec: IntervalSpec) -> bool:
    """Copies of a left row may each find their own partners."""
    return spec.how == "inner" and spec.match == "all"


def _dealt(spec: IntervalSpec, left: float, right: float) -> Side:
    """The side whose rows are dealt out to the tasks; the other side is copied to all. It is the larger side,
    but right rows can be dealt only if there may be copies of left ones."""
    return "right" if _copies_left(spec) and right > left else "left"
