"""Advice on settings: what was measured, and the option that follows from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dovetail.engine.measure import JoinMeasure, KeyShare, StreamMeasure
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.sketch import EventTimeSketch
from dovetail.service.setting_advice import advise_settings, late_share
from unit.engine.workload import config

SECOND = 1_000_000


def stream(side: str, **known: object) -> StreamMeasure:
    said = dict.fromkeys(StreamMeasure.__dataclass_fields__, 0) | {"side": side, "frequent": ()}
    return StreamMeasure(**{**said, **known})  # type: ignore[arg-type]


def measured(left: StreamMeasure, right: StreamMeasure, tasks: int = 1, rows: int = 10_000) -> JoinMeasure:
    totals = {"left_in": rows, "right_in": rows}
    return JoinMeasure("join", 100, 0, left, right, totals, None, tasks=tasks)


@pytest.fixture
def join(tmp_path: Path) -> JoinConfig:
    spec = IntervalSpec(60 * SECOND, 60 * SECOND, "left", left_cap=10)
    return config(tmp_path, tmp_path, spec, 8, 20 * SECOND)


def arrived(late_s: int, share: float) -> list[EventTimeSketch]:
    """A hundred commits of a hundred rows, one per second; some rows are late by so much."""
    rng, found = np.random.default_rng(3), []
    for second in range(100):
        times = np.full(100, second * SECOND, np.int64) + rng.integers(0, SECOND, 100)
        times[rng.random(100) < share] -= late_s * SECOND
        found.append(EventTimeSketch.of(times + 1_700_000_000 * SECOND))
    return found


ON_TIME = arrived(0, 0.0)
QUIET = measured(stream("left"), stream("right"))


def test_nothing_is_wrong(join: JoinConfig) -> None:
    near = replace(join, settings=replace(join.settings, left_max_delay_us=0, right_max_delay_us=0))
    assert advise_settings(near, QUIET, (ON_TIME, ON_TIME), cores=4) == []


def test_rows_that_are_late(join: JoinConfig) -> None:
    found = advise_settings(join, QUIET, (arrived(30, 0.02), arrived(18, 0.02)), cores=4)
    [advice] = [one for one in found if one.option.endswith("delay")]
    assert advice.option == "left_max_delay"
    assert 30 * SECOND <= advice.to <= 40 * SECOND
    assert late_share(arrived(30, 0.02), advice.to) == 0
    assert "of left rows would be late, now 1." in advice.words or "now 2." in advice.words


def test_a_delay_that_nobody_needs(join: JoinConfig) -> None:
    found = advise_settings(join, QUIET, (ON_TIME, arrived(18, 0.02)), cores=4)
    assert [(one.option, one.to) for one in found] == [("left_max_delay", 3 * SECOND)]
    assert found[0].literal == "INTERVAL '3 seconds'"
    assert found[0].words == (
        "set left_max_delay to 3 seconds: windows close 17 seconds earlier, "
        "and 0.00 % of left rows would be late"
    )


def test_a_cap_that_cuts_too_much(join: JoinConfig) -> None:
    hot = stream("left", capped=500, rows_per_event_s=100.0, frequent=(KeyShare(("a",), 0.02),))
    found = advise_settings(join, measured(hot, stream("right", capped=9_999)), ([], []), cores=4)
    assert [(one.option, one.to) for one in found] == [("left_cap", 150)], (
        "1.25 times what the key has in a minute"
    )
    assert found[0].words == "set left_cap to 150: 5.00 % of left rows had to go early for a cap of 10"


@pytest.mark.parametrize(
    ("tasks", "rows", "behind_s", "advised"),
    [(1, 10**7, 120, 2), (2, 10**7, 120, 4), (4, 10**7, 120, None), (4, 1000, 0, 1), (1, 1000, 0, None)],
)
def test_tasks(join: JoinConfig, tasks: int, rows: int, behind_s: int, advised: int | None) -> None:
    late = measured(stream("left", backlog_us=behind_s * SECOND), stream("right"), tasks, rows)
    found = advise_settings(join, late, ([], []), cores=4)
    assert [one.to for one in found] == ([] if advised is None else [advised])
