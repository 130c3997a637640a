"""`dovetail status` during a rebuild: in words and as JSON."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.engine.measure import measure
from dovetail.joins.rebuild_progress import Rebuilding
from dovetail.model.interval import IntervalSpec
from dovetail.service.cli.status import facts
from dovetail.service.metrics import MeasuredJoin
from dovetail.service.words.status_words import rebuild_words
from unit.engine.stepping import Driven


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ((0.634, 4_204_000.0, 3.2), "63 %, 4.20 M rows/s, 3 s left"),
        ((0.999, 12.0, 0.2), "99 %, 12 rows/s, 1 s left"),
        ((0.1, 900_000.0, 135.0), "10 %, 900 k rows/s, 2 min 15 s left"),
        ((0.0, 0.0, None), "0 %, 0 rows/s"),
    ],
)
def test_words(said: tuple[float, float, float | None], words: str) -> None:
    assert rebuild_words(*said) == f"rebuilding the join state: {words}"


def test_status_shows_a_rebuild_and_nothing_if_there_is_none(tmp_path: Path) -> None:
    driven = Driven.make(tmp_path, IntervalSpec(100, 100, "left"))
    driven.append("right", ("a", 1))
    driven.step()
    found = measure(driven.config, 0)
    quiet = MeasuredJoin(found, driven.config.join_kind, None, ())
    assert not any("rebuilding" in line for line in facts(quiet))
    assert quiet.to_json()["replay"] is None
    busy = replace(quiet, measure=replace(found, replay=Rebuilding(63, 100, 0.63, 21.0, 1.8)))
    assert facts(busy)[0] == "rebuilding the join state: 63 %, 21 rows/s, 2 s left"
    assert busy.to_json()["replay"] == {
        "rows": 63,
        "of": 100,
        "share": 0.63,
        "rows_per_s": 21.0,
        "left_s": 1.8,
    }
