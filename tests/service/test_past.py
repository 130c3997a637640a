"""The days behind an alarm are read once: each look reads what is new, and finds what reading all would."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest

from dovetail.service.alarms.look import RECENT_S, Usual
from dovetail.service.alarms.past import DAY_S, DAYS, HOUR_S, FigurePast, Figures
from dovetail.service.keeping.wanted import Wanted, want
from dovetail.service.server.ledger import ServiceLedger
from service.serving import quiet_daemon

START_S = 1_800_000_000.0
EVERY_S = 600.0


class Counting(ServiceLedger):
    """Counts the rows that are read."""

    rows = 0

    def figures(self, application: str, after_s: float, until_s: float) -> list[tuple[float, dict[str, Any]]]:
        found = super().figures(application, after_s, until_s)
        self.rows += len(found)
        return found

    def history(self, application: str, since_s: float, most: int = 500) -> list[Figures]:
        raise AssertionError("all of the history is read")


@pytest.fixture
def ledger(tmp_path: Path) -> Counting:
    return Counting(tmp_path / "ledger.sqlite")


def by_reading_all(history: list[Figures], now_s: float) -> tuple[list[Figures], Usual | None]:
    days = []
    for day in range(1, DAYS + 1):
        since_s = now_s - day * DAY_S - HOUR_S / 2
        rates = [one["rate"] for at, one in history if since_s < at <= since_s + HOUR_S and one["rate"]]
        days += [median(rates)] if rates else []
    middle = median(days) if len(days) > 1 else 0.0
    usual = Usual(middle, max(abs(day - middle) for day in days)) if len(days) > 1 else None
    return [(at, one) for at, one in history if now_s - RECENT_S < at <= now_s], usual


def test_each_look_reads_only_what_is_new_and_finds_what_reading_all_would(ledger: Counting) -> None:
    random, past = Random(1), FigurePast("clicks", "rate", ledger.figures)
    history: list[Figures] = []
    looks = 0
    for number in range(round(9 * DAY_S / EVERY_S)):
        at_s = START_S + number * EVERY_S
        if DAY_S < at_s - START_S < 1.3 * DAY_S:
            continue  # it was stopped for some hours
        history.append((at_s, {"rate": random.choice([None, random.random()])}))
        ledger.remember("clicks", *history[-1])
        if number % 7 == 0 and at_s > START_S + 6 * DAY_S:
            ledger.rows, looks = 0, looks + 1
            first = looks == 1
            assert past.look(at_s) == by_reading_all(history, at_s)
            assert first or ledger.rows <= 7 * (DAYS + 1), "what came into each span, and no more"
    assert looks > 50


def test_a_clock_that_is_set_back_begins_again(ledger: Counting) -> None:
    past = FigurePast("clicks", "rate", ledger.figures)
    history: list[Figures] = [(START_S + n * 60.0, {"rate": n / 60}) for n in range(60)]
    for one in history:
        ledger.remember("clicks", *one)
    past.look(START_S + 3_600)
    back_s = START_S + 1_000.0
    ledger.remember("clicks", back_s, {"rate": 0.5})
    known = [(at, one) for at, one in history if at <= back_s] + [(back_s, {"rate": 0.5})]
    assert past.look(back_s) == by_reading_all(known, back_s)
    assert ledger.figures("clicks", 0, 2 * START_S)[-1][0] == back_s, (
        "what lies ahead would hide what is measured now"
    )


def test_a_daemon_rings_by_what_is_new(tmp_path: Path, ledger: Counting) -> None:
    daemon = quiet_daemon(tmp_path)
    daemon.ledger = ledger
    want(daemon.home, Wanted("clicks", 1, "running", "query", "ada", "ada", 0, "deployed"))
    now_s = daemon.looked_at_s
    for day in range(DAYS):
        for minute in range(-20, 20):
            ledger.remember("clicks", now_s - (7 - day) * DAY_S + minute * 60.0, {"match_rate": 0.9})
    daemon.ring()
    assert ledger.rows > 100
    ledger.rows = 0
    ledger.remember("clicks", now_s, {"match_rate": 0.9})
    daemon.ring()
    assert ledger.rows <= 1
