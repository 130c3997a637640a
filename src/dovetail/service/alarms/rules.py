"""What the daemon finds for each alarm of the table (`runbooks.py`).

An alarm rings when it has held for a while, and is over when it has not held for two minutes. What counts as
unusual comes from the application's own history, not from a number that somebody has to choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dovetail.service import units
from dovetail.service.alarms.look import SERVICE, SILENT, Look
from dovetail.service.alarms.runbooks import RUNBOOKS, Severity

MINUTE_US = 60_000_000
SHARE = 0.01
"""Share of the rows: more bad or late ones than this are worth a look."""
FEWEST_ROWS = 1_000
"""In a quarter of an hour, before a share of them means anything."""
HOT, HALF = 0.5, 0.5
DROP = 0.05


@dataclass(frozen=True)
class Alarm:
    """`found` gives words if the alarm holds now. `action` is the first thing to do."""

    name: str
    severity: Severity
    after_us: int
    sentence: str
    action: str
    found: Callable[[Look], str | None]


def _down(look: Look) -> str | None:
    if look.wanted == "running" and look.condition in ("crash loop", "failed"):
        return f"{look.condition}: {look.why}"
    return None


def _not_up(look: Look) -> str | None:
    if look.wanted == "running" and look.condition in ("waiting", "starting", "pending", "elsewhere"):
        return f"{look.condition}: {look.why}"
    return None


def _behind(look: Look) -> str | None:
    """If only one stream is behind, it is paced or waits for the other: that is no lack of tasks. Nobody is
    woken while the scaler is fixing it."""
    if look.mending:
        return None
    for join in look.joins:
        both = all(_side(join, side).get("backlog_rows", 0) > 0 for side in ("left", "right"))
        if both and look.gained("backlog_rows") > 0:
            rows = sum(_side(join, side)["backlog_rows"] for side in ("left", "right"))
            return f"join {join['name']} is {rows:,} rows behind on both sides, and falls further behind"
    return None


def _silent(look: Look) -> str | None:
    for join in look.joins:
        for side in ("left", "right"):
            stream = _side(join, side)
            if stream.get("rows", 0) > 0 and not stream.get("rows_per_s"):
                return f"the {side} stream of join {join['name']} gets no rows"
    return None


def _few_matches(look: Look) -> str | None:
    rates = [join["match_rate"] for join in look.joins if join.get("match_rate") is not None]
    if not rates or look.match_rate is None:
        return None
    now, usual = min(rates), look.match_rate
    if now >= usual.middle - max(DROP, 2 * usual.spread):
        return None
    return f"the match rate is {units.share(now)}; at this hour it was {units.share(usual.middle)} before"


def _late(look: Look) -> str | None:
    return _share_of(look, "late", "late")


def _bad(look: Look) -> str | None:
    return _share_of(look, "bad", "without a usable key or time, or unreadable")


def _share_of(look: Look, name: str, words: str) -> str | None:
    rows, some = look.gained("rows"), look.gained(name)
    if rows + some < FEWEST_ROWS or some <= SHARE * (rows + some):
        return None
    return f"{units.share(some / (rows + some))} of the rows of the last quarter of an hour are {words}"


def _stuck(look: Look) -> str | None:
    times = [figures.get("time_us") for _, figures in look.recent]
    known = [time for time in times if time is not None]
    if len(known) > 1 and known[0] == known[-1] and look.gained("rows") > 0:
        return f"rows arrive, and stream time stays at {units.instant(known[-1])} UTC"
    return None


def _large(look: Look) -> str | None:
    held = sum(join.get("totals", {}).get("index_bytes", 0) for join in look.joins)
    if look.memory_bytes and held > HALF * look.memory_bytes:
        return f"its indexes take {units.size(held)}, of {units.size(look.memory_bytes)} on this host"
    return None


def _hot(look: Look) -> str | None:
    for join in look.joins:
        for side in ("left", "right"):
            for key in _side(join, side).get("frequent") or []:
                if key["share"] > HOT and (join.get("tasks") or 1) > 1:
                    named = ", ".join(map(str, key["key"]))
                    return f"key {named} has {units.share(key['share'])} of the {side} rows of {join['name']}"
    return None


def _replaying(look: Look) -> str | None:
    for join in look.joins:
        replay = join.get("replay")
        if replay is not None:
            return f"join {join['name']} rebuilds its window: {units.share(replay.get('share'))} done"
    return None


def _side(join: dict[str, Any], side: str) -> dict[str, Any]:
    found: dict[str, Any] = join.get(side) or {}
    return found


def _lost(look: Look) -> str | None:
    return look.lost


def _unwatched(look: Look) -> str | None:
    if look.application == SERVICE and look.condition == SILENT:
        return f"the service has not looked at its applications for a minute: {look.why}"
    return None


def _at_limit(look: Look) -> str | None:
    return look.scaler


ALARMS: tuple[Alarm, ...] = tuple(
    Alarm(said.name, said.severity, said.after_min * MINUTE_US, said.sentence, said.action, found)
    for said, found in zip(
        RUNBOOKS,
        (
            _down,
            _not_up,
            _behind,
            _silent,
            _few_matches,
            _stuck,
            _late,
            _bad,
            _large,
            _hot,
            _replaying,
            _lost,
            _unwatched,
            _at_limit,
        ),
        strict=True,
    )
)
