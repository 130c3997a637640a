"""Which version put a row out: by the steps that versions name, and by the clock where they name none."""

from __future__ import annotations

from pathlib import Path

from dovetail.changes.takeover import take_over
from dovetail.changes.timeline import recorded_steps, timeline
from dovetail.changes.versions import read_version, version_path
from unit.changes.test_takeover import QUERY, WIDER, considered, started

LATER_US = 2**60
MORE = WIDER + (
    "CREATE VIEW w AS SELECT a.x AS x, b.y AS y FROM a JOIN b ON a.k = b.k "
    "AND b.t BETWEEN a.t AND a.t + INTERVAL '5 minutes';"
    "CREATE TABLE p AS SELECT x, y FROM w STORAGE NOOP;"
)


def versions(home: str, join: str, *steps: int, planned_at_us: int = LATER_US) -> list[int | None]:
    found = timeline(home, "app", join)
    return [found.version_at(step, planned_at_us) for step in steps]


def test_a_step_is_of_the_version_that_had_taken_over_before_it(tmp_path: Path) -> None:
    home = str(tmp_path)
    started(home)
    assert versions(home, "v", 1, 99) == [1, 1]
    take_over(considered(home, WIDER), {"v": 7})
    take_over(considered(home, QUERY), {"v": 9})
    assert versions(home, "v", 1, 7, 8, 9, 10, 50) == [1, 1, 2, 2, 3, 3]


def test_a_join_that_came_later_begins_with_its_version(tmp_path: Path) -> None:
    home = str(tmp_path)
    started(home, WIDER)
    take_over(considered(home, MORE), {"v": 7})
    assert versions(home, "w", 1, 5) == [2, 2]
    take_over(considered(home, WIDER), {"v": 8, "w": 3})
    take_over(considered(home, MORE), {"v": 9})
    assert versions(home, "w", 1) == [4], "it was removed, and starts afresh"
    assert versions(home, "v", 8, 9, 10) == [2, 3, 4]


def test_where_no_step_is_named_the_clock_decides(tmp_path: Path) -> None:
    home = str(tmp_path)
    started(home)
    take_over(considered(home, WIDER))
    made_at_us = read_version(home, "app", 2).made_at_us
    assert versions(home, "v", 3, planned_at_us=made_at_us - 1) == [1]
    assert versions(home, "v", 3, planned_at_us=made_at_us) == [2]


def test_a_version_that_cannot_be_read_hides_itself_and_those_before(tmp_path: Path) -> None:
    home = str(tmp_path)
    started(home)
    take_over(considered(home, WIDER), {"v": 7})
    take_over(considered(home, QUERY), {"v": 9})
    damaged = tmp_path / version_path("app", 2)
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-9])
    assert versions(home, "v", 7, 8, 10) == [None, None, 3]
    damaged.write_bytes(whole)
    (tmp_path / version_path("app", 1)).unlink()
    assert versions(home, "v", 7, 8, 10) == [1, 2, 3], "one that was started before versions were kept"


def test_a_join_that_never_ran_has_no_last_step(tmp_path: Path) -> None:
    started(str(tmp_path))
    assert recorded_steps(considered(str(tmp_path), QUERY).plan, str(tmp_path)) == {}
