"""Law: which keys are hot is a function of the commits taken so far, and changes seldom.

Beyond the paper, whose section 6.6 only caps them. Commits name their frequent keys; counts of these fade
with a half-life, so that what was hot last week is forgotten. A key becomes hot when it makes up half of a
task's fair share of the rows, and stops being so far below that: a change costs a look at the key's rows in
the log.
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
"""Before so many rows (fading as the counts do) nothing is said."""
SMALLEST_SHARE = 0.02
COOLING = 4
"""A hot key stays one until its share is so many times smaller than what made it hot."""
FORGOTTEN_ROWS = 16


@dataclass(frozen=True)
class Heat:
    """Fading counts: of all rows, and of each frequent key its left and its right ones."""

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
    """The heat in an offset."""
    try:
        return Heat.from_json(saved)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptFile(
            f"counts of frequent keys that are none: {error}",
            where="Spark's offset log",
            hint="restore the application's checkpoints from a copy of the home, or start in a new home",
        ) from error


def splittable(spec: IntervalSpec) -> bool:
    """Each left row must be able to decide alone: no lone right rows; and nothing may be counted by key."""
    return not spec.keeps_right and spec.left_cap is None and spec.right_cap is None


def warmed(heat: Heat, rows: int, left: Sequence[FrequentKey], right: Sequence[FrequentKey]) -> Heat:
    """The counts after some more rows, among them these frequent keys."""
    fading = 0.5 ** (rows / HALF_LIFE_ROWS)
    counts = {key: [one * fading, other * fading] for key, (one, other) in heat.keys.items()}
    for side, keys in enumerate((left, right)):
        for key in keys:
            counts.setdefault(key.hash, [0.0, 0.0])[side] += key.rows
    kept = {key: (one, other) for key, (one, other) in sorted(counts.items()) if one + other > FORGOTTEN_ROWS}
    return Heat(heat.rows * fading + rows, kept)


def hot_keys(heat: Heat, known: Sequence[HotKey], spec: IntervalSpec, tasks: int) -> tuple[HotKey, ...]:
    """The keys to split over `tasks`, given those that are split so far."""
    if tasks < 2 or not splittable(spec):
        return ()
    if heat.rows < FEWEST_ROWS:
        return tuple(known)
    warm = max(SMALLEST_SHARE, 0.5 / tasks) * heat.rows
    before = {key.hash: key for key in known}
    found = []
    for key, (left, right) in heat.keys.items():
        if key in before:
            if left + right > warm / COOLING:
                found.append(before[key])
        elif left + right > warm:
            found.append(HotKey(key, _dealt(spec, left, right)))
    return tuple(found)


def _dealt(spec: IntervalSpec, left: float, right: float) -> Side:
    """The side with more rows, where copies of a left row may each find partners of their own."""
    copies = spec.how == "inner" and spec.match == "all"
    return "right" if copies and right > left else "left"
