"""`dovetail why` about a row of a chain of joins: followed to the end, by what came out of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from dovetail.engine.late_rows import set_aside
from dovetail.engine.window_planner import WindowPlanner
from dovetail.local.graph import Graph
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.application_file import application_path, encode
from dovetail.plan.configure import window_config
from dovetail.plan.physical import Plan, WindowStage
from dovetail.pql.compile import compile_pql
from dovetail.service.cli import main as cli
from dovetail.service.following import find_rows
from dovetail.slicing.write_rows import bucket_of, time_of

START = datetime(2026, 1, 1, tzinfo=UTC)
INPUTS = """CREATE APPLICATION app;
CREATE INPUT TABLE ads (t TIMESTAMP, k BIGINT, x BIGINT) FROM SCRIBE("ads");
CREATE INPUT TABLE clicks (t TIMESTAMP, k BIGINT, x BIGINT) FROM SCRIBE("clicks");
CREATE INPUT TABLE sales (t TIMESTAMP, k BIGINT, x BIGINT) FROM SCRIBE("sales");
CREATE VIEW clicked AS SELECT {items} FROM ads AS l LEFT JOIN clicks AS r
    ON l.k = r.k AND r.t BETWEEN l.t AND l.t + INTERVAL '10 seconds';
"""
PLAIN = "l.t AS t, l.k AS k, l.x AS ad, r.x AS click"
SOLD = """
CREATE VIEW sold AS SELECT p.ad AS ad, p.click AS click, s.x AS sale FROM {sides}
    ON p.click = s.k AND {window};
CREATE TABLE result AS SELECT * FROM sold STORAGE NOOP;
"""
AS_LEFT = SOLD.format(
    sides="clicked AS p LEFT JOIN sales AS s", window="s.t BETWEEN p.t AND p.t + INTERVAL '10 seconds'"
)
AS_RIGHT = SOLD.format(
    sides="sales AS s JOIN clicked AS p", window="p.t BETWEEN s.t - INTERVAL '10 seconds' AND s.t"
)
THIRD = """
CREATE VIEW sold AS SELECT p.t AS t, p.ad AS ad, p.click AS click, s.x AS sale FROM clicked AS p
    JOIN sales AS s ON p.click = s.k AND s.t BETWEEN p.t AND p.t + INTERVAL '10 seconds';
CREATE VIEW again AS SELECT p.ad AS ad, s.x AS other FROM sold AS p
    LEFT JOIN clicks AS s ON p.sale = s.k AND s.t BETWEEN p.t AND p.t + INTERVAL '10 seconds';
CREATE TABLE result AS SELECT * FROM again STORAGE NOOP;
"""
ROWS = {
    "ads": [(0, 1, 10), (1, 2, 20), (100, 1, 11)],
    "clicks": [(1, 1, 100), (2, 1, 101), (102, 9, 900)],
    "sales": [(3, 100, 7), (104, 5, 8)],
}


def started(folder: Path, text: str) -> str:
    """An application that has run to its end; the inputs are in its home."""
    home, plan = written(folder), compile_pql(text)
    Graph(plan, home, home, raw=False).drain()
    keep_plan(home, plan)
    return home


def written(folder: Path) -> str:
    """A home with the inputs."""
    for name, given in ROWS.items():
        table = pa.table(
            {
                "t": pa.array([START + timedelta(seconds=s) for s, _, _ in given], pa.timestamp("us", "UTC")),
                "k": pa.array([key for _, key, _ in given], pa.int64()),
                "x": pa.array([value for _, _, value in given], pa.int64()),
            }
        )
        category = Category.create(str(folder), name, table.schema, buckets=1)
        category.append(category.write_segments(table.to_batches(), bucket_of(None, 1), time_of("t")))
    return str(folder)


def keep_plan(home: str, plan: Plan) -> None:
    store = open_store(home)
    store.make_folder("apps/app")
    store.replace(application_path("app"), encode(plan))


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main(["why", "app", *arguments])
    assert not ended.value.code
    return capsys.readouterr().out


def test_to_the_left_side_of_the_next_join(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = started(tmp_path, INPUTS.format(items=PLAIN) + AS_LEFT)
    out = asked(capsys, "--join", "clicked", "--key", "1", "--home", home)
    first, second = out.split("left row", 1)[1].split("\nleft row")
    assert "ad=10 click=100" in first
    assert "ad=10 click=101" in first
    sold, unsold = first.split("    row ")[1:]
    if "click=101" in sold:
        sold, unsold = unsold, sold
    assert "in join sold, left row" in sold
    assert "\n        matched\n          with 2026-01-01T00:00:03Z" in sold
    assert "not matched\n          no right row has this key" in unsold
    assert "came out alone" in second.split("    row ")[0]
    assert "ad=11" in second.split("    row ")[1]
    assert "it can match nothing: " in second, "its click, the key of the next join, is null"


def test_where_the_time_comes_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = started(tmp_path, INPUTS.format(items=PLAIN) + AS_LEFT)
    assert "inherited" not in asked(capsys, "--join", "clicked", "--key", "1", "--home", home)
    out = asked(capsys, "--join", "sold", "--key", "100", "--home", home)
    assert "the left stream time is inherited from app.clicked (inherited or fixed)\n" in out
    assert "right stream time" not in out, "nobody promises anything about an input that people write"


def test_to_the_right_side_of_the_next_join(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = started(tmp_path, INPUTS.format(items=PLAIN) + AS_RIGHT)
    out = asked(capsys, "--join", "clicked", "--key", "1", "--time", "2026-01-01T00:00:00Z", "--home", home)
    rows = out.split("    row ")[1:]
    assert len(rows) == 2
    assert sum("matched\n        with, left row" in row and "sale=7" in row for row in rows) == 1
    assert sum("no left row has matched it" in row for row in rows) == 1


def test_through_three_joins_as_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = started(tmp_path, INPUTS.format(items=PLAIN) + THIRD)
    out = asked(capsys, "--join", "clicked", "--key", "1", "--home", home, "--json")
    said = json.loads(out)
    first, last = said["followed"]
    (row,) = [one for one in first if any(then["rows"][0]["status"] == "matched" for then in one["then"])]
    (in_sold,) = row["then"]
    assert in_sold["join"] == "sold"
    ((in_again,),) = [one["then"] for one in in_sold["then"]]
    assert (in_again["join"], in_again["rows"][0]["status"], in_again["then"]) == ("again", "unmatched", [])
    assert [one["rows"][0]["status"] for one in last[0]["then"]] == ["unmatched"]


def test_what_is_computed_is_not_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = INPUTS.format(items=PLAIN) + AS_LEFT
    home = started(tmp_path, text)
    filtered = compile_pql(
        text.replace("FROM clicked AS p LEFT", "FROM some AS p LEFT").replace(
            "CREATE VIEW sold", "CREATE VIEW some AS SELECT * FROM clicked WHERE ad > 5;\nCREATE VIEW sold"
        )
    )
    open_store(home).replace(application_path("app"), encode(filtered))
    out = asked(capsys, "--join", "clicked", "--key", "1", "--home", home)
    assert "what comes out is computed or filtered first: ask `--join sold`" in out
    computed = compile_pql(text.replace("l.x AS ad", "coalesce(l.x, r.x) AS ad"))
    open_store(home).replace(application_path("app"), encode(computed))
    out = asked(capsys, "--join", "clicked", "--key", "1", "--home", home)
    assert "what comes out is computed or filtered first: ask `--join sold`" in out


BOTH = AS_LEFT + "CREATE TABLE pairs AS SELECT * FROM clicked STORAGE NOOP;"
"""The lower join has two readers, and so a category of its own."""


def test_through_a_category_that_two_stages_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = INPUTS.format(items=PLAIN) + BOTH
    home = started(tmp_path, text)
    out = asked(capsys, "--join", "clicked", "--key", "1", "--home", home)
    assert "table pairs takes it" in out
    assert "in join sold, left row" in out
    filtered = text.replace("FROM clicked AS p LEFT", "FROM some AS p LEFT").replace(
        "CREATE VIEW sold", "CREATE VIEW some AS SELECT * FROM clicked WHERE ad > 5;\nCREATE VIEW sold"
    )
    keep_plan(home, compile_pql(filtered))
    out = asked(capsys, "--join", "clicked", "--key", "1", "--home", home)
    assert "what join sold makes of it is computed or filtered first: ask `--join sold`" in out


def test_rows_are_found_by_their_values(tmp_path: Path) -> None:
    home = started(tmp_path, INPUTS.format(items=PLAIN) + BOTH)
    category = Category.open(home, "app.clicked")
    assert len(find_rows(category, {"ad": 10})) == 2
    assert len(find_rows(category, {"ad": 10, "click": 101})) == 1
    assert len(find_rows(category, {"ad": 11, "click": None})) == 1
    assert find_rows(category, {"ad": 11, "click": 101}) == []
    later = category.evolve(category.schema.append(pa.field("note", pa.string())))
    assert len(find_rows(later, {"ad": 10, "note": "new"})) == 2, "they were written before it had notes"


COUNTED = """
CREATE TABLE minutes AS SELECT window.start AS since, count(click) AS n, sum(ad) AS ads
    FROM clicked GROUP BY window(t, '1 minute') STORAGE SCRIBE(category = "minutes");
"""


def test_into_the_window_of_an_aggregate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The join writes the rows of the aggregate itself. Its windows are open, then one row is late for its
    own, then all are closed."""
    home = written(tmp_path)
    plan = compile_pql(INPUTS.format(items=PLAIN) + COUNTED)
    graph = Graph(plan, home, home)
    for name in ("clicked.left", "clicked.right", "clicked"):
        while graph.runners[name].step(final=True):
            pass
    keep_plan(home, plan)
    question = ("--join", "clicked", "--key", "2", "--home", home)
    window = "window 2026-01-01T00:00:00Z to 2026-01-01T00:01:00Z of table minutes"
    assert f"in {window}, which is open; stream time is not known yet" in asked(capsys, *question)

    (stage,) = [stage for stage in plan.stages if isinstance(stage, WindowStage)]
    config = window_config(plan, stage, home, tasks=1)
    planner = WindowPlanner(config)
    planner.plan(planner.first(), until=planner.there_now(), final=True)
    assert f"counted in {window}, which has closed" in asked(capsys, *question)

    rows = Category.open(home, stage.rows)
    later_us = int((START + timedelta(minutes=1)).timestamp() * 1_000_000)
    for commit in rows.commits(0, rows.next_commit()):
        set_aside(config, rows, commit, later_us)
    assert f"late for {window}: it had closed; the row is in app.minutes.late" in asked(capsys, *question)
    second = asked(capsys, "--join", "clicked", "--key", "1", "--home", home).split("\nleft row")[-1]
    assert "counted in window 2026-01-01T00:01:00Z" in second
