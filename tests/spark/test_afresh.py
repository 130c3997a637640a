"""Law: through a change that lets a join begin afresh, two rows from before the change meet by the old query,
and all others by the new one. What has no partner by the change comes out alone in it. Where a left row gets
one answer, it gets that from the old query, or if that had none by the change from the new one."""

from __future__ import annotations

from collections import Counter
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from change_oracle import ChangingJoin, Spec
from dovetail.log.category import list_categories
from dovetail.plan.application_file import read_current
from dovetail.service import hosting
from dovetail.spark import settling
from replaying import Replayed
from spark.application import Application, category_rows
from spark.batch import count, database, differences
from spark.events import events, write_files

ROWS, PARTS, CUT = 4_500, 3, 1
MINUTE = 60_000_000
TIMES = "r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'"
PQL = f"""
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{{here}}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{{here}}/r", format = "parquet");
    CREATE VIEW few AS SELECT * FROM r WHERE v < 700;
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN few AS r ON l.k = r.k AND {TIMES};
    CREATE TABLE result AS SELECT * FROM pairs STORAGE PARQUET(path = "{{here}}/out");
"""
ANSWERS = f"""
    CREATE VIEW there AS SELECT l.id AS l FROM l LEFT SEMI JOIN r ON l.k % 300 = r.k % 300 AND {TIMES};
    CREATE TABLE there_rows AS SELECT l FROM there STORAGE SCRIBE(category = "there");
    CREATE VIEW one AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r ON l.k % 400 = r.k % 400 AND {TIMES}
        WITH (match = 'one');
    CREATE TABLE one_rows AS SELECT l, r FROM one STORAGE SCRIBE(category = "one");
    CREATE VIEW near AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN r
        ON CASE WHEN l.v % 5 = 0 THEN NULL ELSE l.k % 200 END = r.k % 200 AND {TIMES}
        WITH (match = 'one', pick = 'nearest');
    CREATE TABLE near_rows AS SELECT l, r FROM near STORAGE SCRIBE(category = "near");
"""
OTHER_ANSWERS = (
    ANSWERS.replace("l.k % 300", "l.v % 300")
    .replace("l.k % 400", "l.v % 400")
    .replace("CASE WHEN l.v % 5 = 0 THEN NULL ELSE l.k % 200 END", "l.v % 200")
)
ANSWERED = {
    "there": Spec(2 * MINUTE, 3 * MINUTE, "semi", "all", "first"),
    "one": Spec(2 * MINUTE, 3 * MINUTE, "left", "one", "first"),
    "near": Spec(2 * MINUTE, 3 * MINUTE, "left", "one", "nearest"),
}
OTHER_KEY = PQL.replace("l.k = r.k", "l.v % 100 = r.k % 100")
OTHER_FILTER = PQL.replace("WHERE v < 700", "WHERE v >= 300")


def part(seed: int, first: int, stop: int) -> pa.Table:
    return events(ROWS, 600, seed).slice(first * ROWS // PARTS, (stop - first) * ROWS // PARTS)


class Dies(Exception):
    """In place of a process that does."""


def dies(*_: object) -> None:
    raise Dies


def expected(how: str, left: str, right: str, condition: str, where: str) -> str:
    return (
        f"SELECT l.id AS l, r.id AS r FROM {left} AS l {how} JOIN (FROM {right} WHERE {where}) AS r "
        f"ON {condition} AND {TIMES}"
    )


@pytest.mark.parametrize(
    ("old", "query", "how", "condition", "where", "dying"),
    [
        (
            PQL.replace("LEFT JOIN", "FULL JOIN") + ANSWERS,
            OTHER_KEY.replace("LEFT JOIN", "FULL JOIN") + OTHER_ANSWERS,
            "FULL",
            "l.v % 100 = r.k % 100",
            "v < 700",
            (settling, "write_closing"),  # it is filled, and does not count yet
        ),
        (PQL, OTHER_FILTER, "LEFT", "l.k = r.k", "v >= 300", (hosting, "let_out")),  # it counts
    ],
    ids=["another key", "another filter, resliced"],
)
def test_a_join_begins_afresh(
    application: Application,
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    query: str,
    how: str,
    condition: str,
    where: str,
    dying: tuple[ModuleType, str],
) -> None:
    folder, reslice = application.folder, "WHERE v >= 300" in query
    answered = answers(application.home) if "there" in query else {}
    wanted = {name: Counter[Any]() for name in answered}
    for number in range(PARTS):
        for name, seed in (("l", 1), ("r", 2)):
            write_files(part(seed, number, number + 1), folder / name, 1, first=number)
        changed = number >= CUT
        mode = "drain" if number == PARTS - 1 else "available-now"
        first = number == CUT
        if first:
            with monkeypatch.context() as patch:
                patch.setattr(*dying, dies)
                with pytest.raises(Dies):
                    application.run(query, mode, reslice=reslice)
        application.run(query if changed else old, mode, reslice=reslice and first)
        stages = {stage.name: stage for stage in read_current(application.home, "app").plan.joins}
        for name, join in answered.items():
            wanted[name].update(join.rows(1 + changed, stages[name]))
    db = database(
        l1=part(1, 0, CUT),
        r1=part(2, 0, CUT),
        l=events(ROWS, 600, 1),
        r=events(ROWS, 600, 2),
        found=application.files("out"),
    )
    before = expected(how, "l1", "r1", "l.k = r.k", "v < 700")
    early = CUT * ROWS // PARTS
    both = f"(l IS NULL OR l < {early}) AND (r IS NULL OR r < {early})"
    after = f"FROM ({expected(how, 'l', 'r', condition, where)}) WHERE NOT ({both})"
    assert count(db, f"{after} AND l < {early}") > 10, "pairs of rows from before and after the change"
    assert differences(db, "FROM found", f"{before} UNION ALL {after}") == {}

    plan = read_current(application.home, "app").plan
    names = ["pairs", *answered]
    assert {(join.name, join.begun, join.left, join.right) for join in plan.joins} == {
        (name, 2, f"app.{name}.left.2", f"app.{name}.right.2") for name in names
    }
    sides = {f"app.{name}.{side}" for name in names for side in ("left", "right")}
    assert not sides & set(list_categories(application.home))
    state = folder / "home/apps/app/state"
    assert {path.relative_to(state).parts[0] for path in state.rglob("*") if path.is_file()} == {
        f"{name}@2" for name in names
    }
    assert not (folder / "home/apps/app/closing.json").exists()
    for name, join in answered.items():
        check_answers(application.home, name, join, wanted[name], early)


def answers(home: str) -> dict[str, Replayed]:
    return {
        name: Replayed(
            home,
            "app",
            ("l", "_time" if name == "there" else "_r_id"),
            ChangingJoin(spec),
            {},
            {2: ChangingJoin(spec)},
        )
        for name, spec in ANSWERED.items()
    }


def check_answers(home: str, name: str, join: Replayed, wanted: Counter[Any], early: int) -> None:
    """As the oracle; each left row has one answer, and those that had none by the change came once more."""
    found = category_rows(home, name)
    lefts = found["l"].to_pylist()
    assert len(lefts) == len(set(lefts))
    if name == "near":
        rows = zip(lefts, found["r"].to_pylist(), strict=True)
        assert Counter(rows) == wanted
    else:  # which partner is the first depends on the order of rows in the log
        rights = found["r"].to_pylist() if name == "one" else [None] * len(lefts)
        assert Counter((left, right is None) for left, right in zip(lefts, rights, strict=True)) == Counter(
            (left, right is None) for left, right in wanted.elements()
        )
        again = {row for row in category_rows(home, f"app.{name}.left.2")["l"].to_pylist() if row < early}
        assert again == join.waited
        assert len(again) > 20
    assert name == "there" or len(lefts) == ROWS
