"""Which alarms ring: a pure function of what was found before and what is found now.

    found ──► pending ──(held for as long as its rule says)──► ringing ──(not found for two minutes)──► over

Law: an alarm rings once and is over once, however often it is looked at. One that comes and goes within two
minutes is one alarm. After the clock was set back, what lies ahead of it happened just now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from dovetail.service.alarms.rules import Alarm

OVER_AFTER_US = 120_000_000

Key = tuple[str, str]
"""Application and alarm."""


@dataclass(frozen=True)
class HeldAlarm:
    """An alarm that holds, or did a moment ago."""

    application: str
    name: str
    severity: str
    since_us: int
    seen_us: int
    words: str
    rings: bool = False

    @property
    def key(self) -> Key:
        return self.application, self.name


@dataclass(frozen=True)
class News:
    """What people hear: an alarm begins to ring, or is over."""

    what: Literal["rings", "over"]
    held: HeldAlarm


def ring(
    before: Mapping[Key, HeldAlarm],
    found: Iterable[tuple[str, Alarm, str]],
    muted: Callable[[str, str], bool],
    now_us: int,
) -> tuple[dict[Key, HeldAlarm], list[News]]:
    """`found`: application, alarm and words of all that hold now. A muted alarm holds and does not ring."""
    after: dict[Key, HeldAlarm] = {}
    news: list[News] = []
    for application, alarm, words in found:
        key = application, alarm.name
        held = before.get(key) or HeldAlarm(application, alarm.name, alarm.severity, now_us, now_us, words)
        held = replace(held, since_us=min(held.since_us, now_us), seen_us=now_us, words=words)
        if not held.rings and now_us - held.since_us >= alarm.after_us and not muted(*key):
            held = replace(held, rings=True)
            news.append(News("rings", held))
        after[key] = held
    for key, held in before.items():
        if key in after:
            continue
        if held.rings and now_us - held.seen_us < OVER_AFTER_US:
            after[key] = replace(held, seen_us=min(held.seen_us, now_us))
        elif held.rings:
            news.append(News("over", held))
    return after, news
