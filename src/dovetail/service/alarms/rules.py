"""The alarms: one table for the daemon, the portal and the reference page.

An alarm rings when it has held for a while, and is over when it has not held for two minutes. What counts as
unusual comes from the application's own history, not from a number that somebody has to choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dovetail.service import units
from dovetail.service.alarms.look import Look

Severity = Literal["page", "ticket"]
"""page: wake somebody. ticket: look at it by daylight."""
MINUTE_US = 60_000_000
SHARE = 0.01
"""Of the rows: more bad or late ones than this are worth a look."""
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
    """A stream that is behind alone is pacing, or waits for the other: that is no lack of power."""
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


ALARMS: tuple[Alarm, ...] = (
    Alarm(
        "crash_loop",
        "page",
        0,
        "The application does not stay up, or cannot run by its query.",
        "Its page shows the error and what its process printed. Deploy a corrected query, or roll back.",
        _down,
    ),
    Alarm(
        "not_running",
        "page",
        5 * MINUTE_US,
        "It should run, and has not come up for five minutes.",
        "Its reason says what it waits for: another run that holds it, or an input that is not there.",
        _not_up,
    ),
    Alarm(
        "cannot_keep_up",
        "page",
        10 * MINUTE_US,
        "Both streams of a join are behind, and fall further behind. One alone is waiting for the other.",
        "Give it more tasks (`dovetail scale`), or a larger host.",
        _behind,
    ),
    Alarm(
        "source_silent",
        "page",
        15 * MINUTE_US,
        "A stream that had rows gets none.",
        "Look at who writes it. Left rows wait for it, up to `idle_timeout` if one is set.",
        _silent,
    ),
    Alarm(
        "match_rate_low",
        "page",
        15 * MINUTE_US,
        "Fewer left rows find a partner than at this hour of the days before.",
        "`dovetail why` for a key that should match; compare the delay and the lateness of both streams.",
        _few_matches,
    ),
    Alarm(
        "time_stuck",
        "page",
        10 * MINUTE_US,
        "Rows arrive, and stream time does not pass: nothing closes.",
        "`dovetail status` shows which stream holds it back, and rows that are too far ahead.",
        _stuck,
    ),
    Alarm(
        "late_rows",
        "ticket",
        15 * MINUTE_US,
        "More than 1 % of the rows are late.",
        "Raise `max_delay`, or let stream time be estimated.",
        _late,
    ),
    Alarm(
        "bad_rows",
        "ticket",
        15 * MINUTE_US,
        "More than 1 % of the rows cannot be read, or have no usable key or time.",
        "They are kept in the categories `.rejects` and `.invalid`: `dovetail log cat` shows them.",
        _bad,
    ),
    Alarm(
        "memory",
        "ticket",
        5 * MINUTE_US,
        "Its indexes take more than half of the host's memory.",
        "A narrower window, a cap, or pacing holds fewer rows; `dovetail advise` says what each costs.",
        _large,
    ),
    Alarm(
        "hot_key",
        "ticket",
        30 * MINUTE_US,
        "One key has more than half of a stream's rows, and one task most of the work.",
        "Caps bound what a key may hold; a key that means nothing can be filtered out.",
        _hot,
    ),
    Alarm(
        "replay_long",
        "ticket",
        10 * MINUTE_US,
        "A join has been rebuilding its window for ten minutes.",
        "It goes on by itself, and results come when it is done. If it repeats, look for lost hosts.",
        _replaying,
    ),
)


def to_markdown() -> str:
    """The reference page."""
    lines = [
        "# Alarms",
        "",
        "Written by `dovetail alarm rules --markdown`; do not edit by hand.",
        "[Run the service](../how-to/serve.md#alarms) says how they reach you.",
        "",
        "| alarm | severity | after | when | what to do first |",
        "|---|---|---|---|---|",
    ]
    for one in ALARMS:
        after = "at once" if not one.after_us else f"{one.after_us // MINUTE_US} minutes"
        lines.append(f"| `{one.name}` | {one.severity} | {after} | {one.sentence} | {one.action} |")
    return "\n".join(lines) + "\n"
