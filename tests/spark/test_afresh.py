"""Law: through a change that lets a join begin afresh, two rows from before the change meet by the old query,
and all others by the new one. What has no partner by the change comes out alone in it."""

from __future__ import annotations

from types import ModuleType

import pyarrow as pa
import pytest

from dovetail.log.category import list_categories
from dovetail.plan.application_file import read_current
from dovetail.service import hosting
from dovetail.spark import settling
from spark.application import Application
from spark.batch import count, database, differences
from spark.events import events, write_files

ROWS, PARTS, CUT = 4_500, 3, 1
TIMES = "r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'"
PQL = f"""
    CREATE APPLICATION app;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{{here}}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{{here}}/r", format = "parquet");
    CREATE VIEW few AS SELECT * FROM r WHERE v < 700;
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r FROM l LEFT JOIN few AS r ON l.k = r.k AND {TIMES};
    CREATE TABLE result AS SELECT * FROM pairs STORAGE PARQUET(path = "{{here}}/out");
"""
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
            PQL.replace("LEFT JOIN", "FULL JOIN"),
            OTHER_KEY.replace("LEFT JOIN", "FULL JOIN"),
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
    assert [(join.begun, join.left, join.right) for join in plan.joins] == [
        (2, "app.pairs.left.2", "app.pairs.right.2")
    ]
    assert not {"app.pairs.left", "app.pairs.right"} & set(list_categories(application.home))
    state = folder / "home/apps/app/state"
    assert {path.relative_to(state).parts[0] for path in state.rglob("*") if path.is_file()} == {"pairs@2"}
    assert not (folder / "home/apps/app/closing.json").exists()
