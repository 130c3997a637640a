"""A query takes over from another by a version; nothing else is touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dovetail.changes.positions import Position, positions_in
from dovetail.changes.takeover import Takeover, carried, consider, take_over
from dovetail.changes.versions import read_version, version_numbers, version_path
from dovetail.errors import CorruptFile, SettingError, StateError
from dovetail.log import document
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.application_file import application_path, read_current
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse
from dying import crash_everywhere

QUERY = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, x INT) FROM SCRIBE("a");
    CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, y INT) FROM SCRIBE("b");
    CREATE VIEW v AS SELECT a.x AS x, b.y AS y FROM a LEFT JOIN b ON a.k = b.k
        AND b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '1 minute';
    CREATE TABLE o AS SELECT x, y FROM v STORAGE NOOP;
"""
WIDER = QUERY.replace("- INTERVAL '1 minute'", "- INTERVAL '2 minutes'")
OTHER_KEY = QUERY.replace("a.k = b.k", "a.x = b.y").replace("LEFT JOIN", "FULL JOIN")


def considered(home: str, text: str, parent: int | None = None, begins: Sequence[str] = ()) -> Takeover:
    program = parse(text, name="new.pql")
    plans = plans_of(trace_program(program))
    return consider(home, plans, program, parent=parent, positions=positions_in(begins))


def started(home: str, text: str = QUERY) -> None:
    take_over(considered(home, text))
    open_store(home).make_folder("apps/app/checkpoints/v")  # as a run would


def test_versions_follow_each_other(tmp_path: Path) -> None:
    home = str(tmp_path)
    started(home)
    assert take_over(considered(home, WIDER), {"v": 7}) == 2
    assert take_over(considered(home, QUERY), {"v": 9}) == 3
    found = [read_version(home, "app", number) for number in version_numbers(home, "app")]
    assert [(one.number, one.parent) for one in found] == [(1, None), (2, 1), (3, 2)]
    assert [one.text for one in found] == [QUERY, WIDER, QUERY]
    assert found[1].took_over == {"v": 7}
    assert [change.rule for change in found[1].changes] == ["bounds"]
    current = read_current(home, "app")
    assert current.version == 3
    assert [join.query for join in current.plan.joins] == [3], "twice it got another meaning"


def test_the_same_meaning_is_no_version(tmp_path: Path) -> None:
    home = str(tmp_path)
    started(home)
    assert take_over(considered(home, QUERY.replace("'1 minute'", "'60 seconds'") + "-- said otherwise")) == 1
    assert version_numbers(home, "app") == [1]


def test_a_query_that_never_ran_binds_nobody(tmp_path: Path) -> None:
    home = str(tmp_path)
    take_over(considered(home, QUERY))
    assert take_over(considered(home, OTHER_KEY)) == 1
    assert read_version(home, "app", 1).text == OTHER_KEY


def test_a_refused_change_touches_nothing(tmp_path: Path) -> None:
    home = str(tmp_path)
    started(home)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(StateError, match="column x of a is SMALLINT, was INT") as refused:
        take_over(considered(home, QUERY.replace("x INT", "x SMALLINT")))
    assert "new.pql:3" in (refused.value.where or "")
    assert refused.value.hint
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_the_second_of_two_who_change_at_once_is_told(tmp_path: Path) -> None:
    home = str(tmp_path)
    started(home)
    take_over(considered(home, WIDER, parent=1))
    with pytest.raises(StateError, match="is at version 2, not at version 1"):
        considered(home, QUERY.replace("LEFT JOIN", "JOIN"), parent=1)


def test_a_version_that_never_took_over_keeps_its_number(tmp_path: Path) -> None:
    """A run was killed after it had written the version, before `application.json` named it."""
    home, store = str(tmp_path), open_store(str(tmp_path))
    started(home)
    before = store.read(application_path("app"))
    take_over(considered(home, WIDER))
    store.replace(application_path("app"), before)
    assert take_over(considered(home, QUERY.replace("LEFT JOIN", "JOIN"))) == 3
    assert read_version(home, "app", 3).parent == 1


def test_where_an_input_begins_may_be_said_again(tmp_path: Path) -> None:
    """A run that was killed after its version was named is repeated, word for word."""
    home = str(tmp_path)
    elsewhere = QUERY.replace('SCRIBE("a")', 'FILES("/a", format = "json")')
    started(home)
    assert take_over(considered(home, elsewhere, begins=["a=earliest"])) == 2
    assert read_version(home, "app", 2).begins == {"a": Position("earliest")}
    assert not considered(home, elsewhere, begins=["A=earliest"]).changes
    wider = elsewhere.replace("- INTERVAL '1 minute'", "- INTERVAL '2 minutes'")
    assert take_over(considered(home, wider, begins=["a=earliest"])) == 3
    assert not considered(home, wider, begins=["a=earliest"]).changes, "as often as one likes"
    for other in ("a=latest", "b=earliest"):
        with pytest.raises(SettingError, match=f"input {other[0]}: its source has not changed"):
            considered(home, wider, begins=[other])


def test_an_application_of_an_earlier_release_gets_its_first_version(tmp_path: Path) -> None:
    home, store = str(tmp_path), open_store(str(tmp_path))
    started(home)
    plan = read_current(home, "app").plan.to_json()
    body = {"application": "app", "plan": {**plan, "version": 3}}
    for stage in body["plan"]["stages"]:  # type: ignore[index]
        stage.pop("query", None)
    store.replace(application_path("app"), document.encode("dovetail.application", 2, body))
    store.delete(version_path("app", 1))
    assert take_over(considered(home, QUERY)) == 1
    assert read_version(home, "app", 1).text == QUERY
    assert take_over(considered(home, WIDER)) == 2


def test_a_damaged_version_is_an_error_for_those_who_ask_and_no_trouble_for_a_run(tmp_path: Path) -> None:
    home = str(tmp_path)
    started(home)
    file = tmp_path / version_path("app", 1)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(CorruptFile):
        read_version(home, "app", 1)
    assert take_over(considered(home, WIDER)) == 2


def test_a_kill_leaves_the_old_version_or_the_new_one(tmp_path: Path) -> None:
    def prepare(home: str) -> Takeover:
        started(home)
        return considered(home, QUERY.replace("SELECT x, y FROM v", "SELECT x, y + 1 AS y FROM v"))

    def check(home: str) -> None:
        version = read_current(home, "app").version
        assert version in (1, 2)
        again = considered(home, QUERY.replace("SELECT x, y FROM v", "SELECT x, y + 1 AS y FROM v"))
        assert bool(again.changes) == (version == 1)
        last = take_over(again)
        assert read_current(home, "app").version == last
        assert read_version(home, "app", last).parent == 1

    assert crash_everywhere(tmp_path, prepare, take_over, check) > 8


def test_columns_keep_the_names_that_they_have_in_the_log(tmp_path: Path) -> None:
    """The planner calls the left columns of a full join otherwise, and rows in flight are read by name."""
    home = str(tmp_path)
    started(home)
    full = considered(home, QUERY.replace("LEFT JOIN", "FULL JOIN"))
    assert [change.rule for change in full.changes] == ["join_type"]
    (join,) = full.plan.joins
    assert {column.source for column in join.columns if column.side == "left"} == {"x"}
    assert "AS `x`" in full.plan.slicers[0].select
    before = considered(home, QUERY).plan
    assert carried(before, before) == before


def test_a_folder_that_another_application_has_written_is_refused(tmp_path: Path) -> None:
    """Spark's list there has numbers that ours would be taken for."""
    home = str(tmp_path / "home")
    files = QUERY.replace("STORAGE NOOP", f'STORAGE PARQUET (path = "{tmp_path}/first")')
    other, one_more = (
        files.replace("first", "other"),
        files.replace(
            "CREATE TABLE o",
            f'CREATE TABLE p AS SELECT x FROM v STORAGE JSON (path = "{tmp_path}/other"); CREATE TABLE o',
        ),
    )
    started(home, files)
    for name in ("first", "other"):
        (tmp_path / name / "_spark_metadata").mkdir(parents=True)
        (tmp_path / name / "_spark_metadata" / "0").write_text("v1")
    for text in (other, one_more):
        with pytest.raises(StateError, match="were written by another application") as refused:
            take_over(considered(home, text))
        assert "rows would vanish" in str(refused.value.expected)
        assert "give the table another path" in str(refused.value.hint)
    assert take_over(considered(home, files.replace("first", "second"))) == 2
    assert take_over(considered(home, files)) == 3, "it comes back to a folder of its own"
    assert take_over(considered(home, QUERY)) == 4
    (tmp_path / "other" / "_spark_metadata" / "0").unlink()
    assert take_over(considered(home, other)) == 5, "nobody has written there"
