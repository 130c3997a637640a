"""A version that follows the running one: what it compares is what brute force compares, however often it was
stopped or killed."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import oracle
from dovetail.engine.copying import settle
from dovetail.errors import CorruptFile, PreviewError, StateError
from dovetail.log.category import Category, list_categories
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.application_file import application_path, encode
from dovetail.preview.shadow import Shadow, drop_shadow
from dovetail.preview.shadow_files import ShadowFile, aside, read_progress, read_shadow
from dying import crash_everywhere
from previewing import INPUTS, SECOND, START_US, Row, Running, differences, join, plan_of

_works = itertools.count()
BEFORE, AFTER = (5, 5), (30, 5)


def stream(first: int, stop: int) -> list[tuple[list[Row], list[Row]]]:
    """Every ten seconds a left row and a right row, of three keys; some left rows come very late."""
    steps: list[tuple[list[Row], list[Row]]] = []
    for n in range(first, stop):
        left: list[Row] = [(n % 3, 10 * n, n)]
        if n % 4 == 0:
            left.append((n % 3, 10 * n - 35, 1000 + n))
        steps.append((left, [(n % 3, 10 * n - 4, n)]))
    return steps


def started(home: str, steps: int = 5, text: str = "") -> Running:
    app = Running(home, text or join(*BEFORE))
    app.play(stream(0, steps))
    ShadowFile("app", 1, join(*AFTER), "ada", 1).write(home)
    settle()
    return app


def shadow(app: Running, text: str = "") -> Shadow:
    work = f"{app.home}-work-{next(_works)}"
    return Shadow(app.home, work, app.plan, plan_of(text or join(*AFTER)), 1)


def compared(app: Running, new: tuple[int, int] = AFTER) -> None:
    """Counts and rows put aside are those of brute force."""
    found = read_progress(app.home, "app")
    assert found is not None
    (at,) = found.at.values()
    since, until = ((time_us - START_US) / SECOND for time_us in (found.since_us, at.until_us))
    times = [{row[2]: row[1] for step in app.steps() for row in step[side]} for side in range(2)]

    def counted(bounds: tuple[int, int]) -> list[Any]:
        rows = [row for step in oracle.streaming_join(app.steps(), *bounds, "left") for row in step]
        return [row for row in rows if since <= times[0][row[0]] < until]

    old, after = counted(BEFORE), counted(new)
    (difference,) = found.tables.values()
    assert (difference.equal, difference.gained, difference.lost, difference.changed) == differences(
        old, after
    )
    assert Counter(after) == Counter(rows_aside(app))
    assert difference.gained + difference.changed > 0


def rows_aside(app: Running) -> list[Any]:
    category = Category.open(app.home, aside("app", "v"))
    return [
        tuple(row.values())
        for commit in category.commits(0, category.next_commit())
        for segment in commit.segments
        for row in category.open_segment(segment).batch.to_pylist()
    ]


@pytest.mark.parametrize("again", [False, True])
def test_what_differs_is_what_the_change_makes(tmp_path: Path, again: bool) -> None:
    """`again`: it is stopped and started after every step."""
    app = started(str(tmp_path / "home"))
    one = shadow(app)
    for step in stream(5, 20):
        app.play([step])
        settle()
        one = shadow(app) if again else one
        one.follow()
    compared(app)
    assert sum(vars(one.progress.tables["v"])[name] for name in ("equal", "changed")) > 8


def test_the_streams_end_and_begin_again(tmp_path: Path) -> None:
    app = started(str(tmp_path / "home"))
    one = shadow(app)
    app.play(stream(5, 12))
    app.graph.drain()
    settle()
    one.follow()
    first = one.progress.tables["v"]
    rows = len(rows_aside(app))
    assert first.equal + first.changed + first.gained == rows > 5
    app.play(stream(12, 20))
    settle()
    one.follow()
    again = shadow(app)
    again.follow()
    assert again.progress == one.progress
    assert len(rows_aside(app)) > rows


def test_a_shadow_that_is_killed_at_any_file_operation(tmp_path: Path) -> None:
    app = started(str(tmp_path / "home"), 2)
    shadow(app).follow()  # it is known from when on rows count
    app.play(stream(2, 8))
    settle()
    apps: dict[str, Running] = {}

    def prepare(home: str) -> Running:
        return apps.setdefault(home, app.copied(home))

    def check(home: str) -> None:
        shadow(apps[home]).follow()
        compared(apps[home])

    assert crash_everywhere(tmp_path, prepare, lambda made: shadow(made).follow(), check) > 5


def test_a_chain_is_followed(tmp_path: Path) -> None:
    text = (
        INPUTS
        + """CREATE VIEW ab AS SELECT a.t AS t, a.k AS k, a.id AS l, b.id AS r FROM a LEFT JOIN b ON b.k = a.k
      AND b.t BETWEEN a.t - INTERVAL '{} seconds' AND a.t
      WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1);
    CREATE VIEW abc AS SELECT ab.l AS l, ab.r AS r, c.id AS c FROM ab LEFT JOIN c ON c.k = ab.k
      AND c.t BETWEEN ab.t - INTERVAL '5 seconds' AND ab.t + INTERVAL '5 seconds'
      WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1);
    CREATE TABLE o AS SELECT l, r, c FROM abc STORAGE NOOP;"""
    )
    app = started(str(tmp_path / "home"), 0, text.format(5))
    play: list[tuple[list[Row], list[Row]]] = [
        ([(n % 3, 10 * n, n)], [(n % 3, 10 * n - 4, n)]) for n in range(20)
    ]
    one = None
    for n, step in enumerate(play):
        app.commit("c", [(n % 3, 10 * n + 1, n)])
        app.play([step])
        settle()
        if n == 3:
            one = shadow(app, text.format(40))
        if one is not None:
            one.follow()
    assert one is not None
    found, at = one.progress.tables["abc"], one.progress.at["abc"]
    since, until = ((time_us - START_US) / SECOND for time_us in (one.progress.since_us, at.until_us))
    counted = [n for n in range(20) if since <= 10 * n < until]
    assert len(counted) > 5
    # With 40 seconds a left row also finds the right row of its key 30 seconds before: one row more.
    assert (found.equal, found.gained, found.lost, found.changed) == (len(counted), len(counted), 0, 0)


def test_it_ends_when_the_application_has_changed(tmp_path: Path) -> None:
    app = started(str(tmp_path / "home"))
    one = shadow(app)
    open_store(app.home).replace(application_path("app"), encode(app.plan, 2))
    with pytest.raises(StateError, match="now at version 2"):
        one.follow()


@pytest.mark.parametrize("name", ["shadow", "progress"])
def test_a_damaged_file_is_named_and_the_shadow_can_be_dropped(tmp_path: Path, name: str) -> None:
    app = started(str(tmp_path / "home"))
    one = shadow(app)
    app.play(stream(5, 12))
    settle()
    one.follow()
    file = Path(app.home) / "apps" / "app.shadow" / f"{name}.json"
    file.write_bytes(file.read_bytes().replace(b"version", b"versiom"))
    with pytest.raises(CorruptFile, match="corrupt") as error:
        shadow(app).follow()
    assert "--drop" in (error.value.hint or "")
    drop_shadow(app.home, "app")
    assert read_progress(app.home, "app") is None
    with pytest.raises(StateError, match="has no shadow"):
        read_shadow(app.home, "app")
    assert not [name for name in list_categories(app.home) if "shadow" in name]
    sides = [Category.open(app.home, f"app.v.{side}") for side in ("left", "right")]
    assert all("app.shadow" not in side.readers() for side in sides)


def test_its_mark_keeps_the_log_and_a_dead_one_does_not(tmp_path: Path) -> None:
    app = started(str(tmp_path / "home"))
    shadow(app).follow()
    side = Category.open(app.home, "app.v.right")
    (mark,) = (one for one in side.marks() if one.name == "app.shadow")
    assert mark.gone is None
    file = next((Path(app.home) / "log" / "app.v.right" / "readers").glob("app.shadow*"))
    os.utime(file, (file.stat().st_mtime - 3600,) * 2)
    (mark,) = (one for one in side.marks() if one.name == "app.shadow")
    assert mark.gone == "it has not renewed its lease"


def test_sessions_cannot_be_followed(tmp_path: Path) -> None:
    text = (
        INPUTS
        + "CREATE VIEW v AS SELECT a.id AS l, b.id AS r FROM a {} JOIN b ON a.k = b.k WITHIN "
        + "SESSION(INTERVAL '2 seconds') WITH (max_delay = INTERVAL '5 seconds', confirmed_by = 1);"
        + "CREATE TABLE o AS SELECT l, r FROM v STORAGE NOOP;"
    )
    app = started(str(tmp_path / "home"), text=text.format("LEFT"))
    with pytest.raises(PreviewError, match="no bounds of event time"):
        shadow(app, text.format("FULL"))
