"""Law: through a change that lets a join begin afresh, two rows from before the change meet by the old query,
and all others by the new one. What has no partner by the change comes out alone in it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dovetail.log.category import list_categories
from dovetail.plan.application_file import read_current
from dovetail.service import hosting
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


def expected(left: str, right: str, condition: str, where: str, how: str = "LEFT") -> str:
    return (
        f"SELECT l.id, r.id FROM {left} AS l {how} JOIN (FROM {right} WHERE {where}) AS r "
        f"ON {condition} AND {TIMES}"
    )


@pytest.mark.parametrize(
    ("query", "condition", "where", "reslice"),
    [
        (OTHER_KEY, "l.v % 100 = r.k % 100", "v < 700", False),
        (OTHER_FILTER, "l.k = r.k", "v >= 300", True),
    ],
    ids=["another key", "another filter, resliced"],
)
def test_a_join_begins_afresh(
    application: Application,
    monkeypatch: pytest.MonkeyPatch,
    query: str,
    condition: str,
    where: str,
    reslice: bool,
) -> None:
    folder = application.folder
    for number in range(PARTS):
        for name, seed in (("l", 1), ("r", 2)):
            write_files(part(seed, number, number + 1), folder / name, 1, first=number)
        changed = number >= CUT
        mode = "drain" if number == PARTS - 1 else "available-now"
        first = number == CUT
        if first and not reslice:
            # It dies when the new query counts, and the old one has not let out what it holds.
            with monkeypatch.context() as patch:
                patch.setattr(hosting, "let_out", dies)
                with pytest.raises(Dies):
                    application.run(query, mode)
        application.run(query if changed else PQL, mode, reslice=reslice and first)
    db = database(
        l1=part(1, 0, CUT),
        l2=part(1, CUT, PARTS),
        r1=part(2, 0, CUT),
        r2=part(2, CUT, PARTS),
        r=events(ROWS, 600, 2),
        found=application.files("out"),
    )
    old = expected("l1", "r1", "l.k = r.k", "v < 700")
    new = expected("l2", "r", condition, where)
    across = expected("l1", "r2", condition, where, "INNER")
    assert count(db, across) > 10
    assert differences(db, "FROM found", f"{old} UNION ALL {new} UNION ALL {across}") == {}

    plan = read_current(application.home, "app").plan
    assert [(join.begun, join.left, join.right) for join in plan.joins] == [
        (2, "app.pairs.left.2", "app.pairs.right.2")
    ]
    assert not {"app.pairs.left", "app.pairs.right"} & set(list_categories(application.home))
    state = folder / "home/apps/app/state"
    assert {path.relative_to(state).parts[0] for path in state.rglob("*") if path.is_file()} == {"pairs@2"}
    assert not (folder / "home/apps/app/closing.json").exists()
