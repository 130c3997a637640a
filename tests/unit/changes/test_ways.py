"""Law: every refusal names a way that works. Here the ways are taken, word for word, and accepted: each gives
what was wanted, by another query or another option."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dovetail.changes.compare import compare
from dovetail.changes.positions import positions_in
from dovetail.changes.takeover import Takeover, consider, require, take_over
from dovetail.errors import StateError
from dovetail.log.homes.filesystem import open_store
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse

QUERY = """CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, x INT) FROM FILES("/in/a", format = "parquet");
CREATE INPUT TABLE b (t TIMESTAMP, k BIGINT, y INT) FROM SCRIBE("b");
CREATE INPUT TABLE c (t TIMESTAMP, k BIGINT, z INT) FROM SCRIBE("c");
CREATE VIEW v AS SELECT a.t AS t, a.k AS k, a.x AS x, b.y AS y FROM a JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '1 minute' AND a.t + INTERVAL '1 minute';
CREATE VIEW w AS SELECT v.x AS x, c.z AS z FROM v JOIN c ON v.k = c.k
  AND c.t BETWEEN v.t - INTERVAL '1 minute' AND v.t + INTERVAL '1 minute';
CREATE TABLE o AS SELECT x, z FROM w STORAGE NOOP;
CREATE VIEW s AS SELECT a.t AS t, a.k AS k, a.x AS x FROM a JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - INTERVAL '3 minutes' AND a.t + INTERVAL '1 minute';
CREATE TABLE p AS SELECT k, x FROM s STORAGE SCRIBE(category = "p", buckets = 4);
CREATE TABLE n AS SELECT window(t, '5 minutes').start AS start, COUNT(*) AS n FROM s
  GROUP BY window(t, '5 minutes') STORAGE NOOP;
"""


def edited(*pairs: tuple[str, str]) -> str:
    text = QUERY
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


COUNTED_OTHERWISE = """CREATE TABLE n10 AS SELECT window(t, '10 minutes').start AS start, COUNT(*) AS n FROM s
  GROUP BY window(t, '10 minutes') STORAGE NOOP;
"""
N = QUERY[QUERY.index("CREATE TABLE n ") :]


@dataclass(frozen=True)
class Way:
    """`words` of the refusal lead from `refused` to each of the queries `taken`, one after the other."""

    name: str
    refused: str
    words: str
    taken: tuple[str, ...]
    reslice: bool = False
    given: dict[str, object] = field(default_factory=dict)


def renamed(text: str, *views: str) -> str:
    for view in views:
        text = re.sub(rf"\b{view}\b", f"{view}2", text)
    return text


UPPER_KEYS = edited(("ON v.k = c.k", "ON v.x = c.z"))
WAYS = [
    Way(
        "other keys of a join that reads a join",
        UPPER_KEYS,
        "give the changed view a new name, and the join that it reads, if there is one, another",
        (renamed(UPPER_KEYS, "v", "w"),),
    ),
    Way(
        "another time zone",
        edited(("app;", 'app;\nSET TIME ZONE "Europe/Berlin";')),
        "convert where it matters: from_utc_timestamp(..)",
        (
            edited(
                ("SELECT k, x FROM s", "SELECT k, x, from_utc_timestamp(t, 'Europe/Berlin') AS berlin FROM s")
            ),
        ),
    ),
    Way(
        "a narrower type, as another column",
        edited(("x INT", "x SMALLINT")),
        "keep INT here and write CAST(x AS SMALLINT) where it is selected, under a new name",
        (edited(("SELECT k, x FROM s", "SELECT k, CAST(x AS SMALLINT) AS small FROM s")),),
    ),
    Way(
        "another source",
        edited(("/in/a", "/in/elsewhere")),
        "--from a=",
        (edited(("/in/a", "/in/elsewhere")),),
        given={"positions": positions_in(["a=earliest"])},
    ),
    Way(
        "other buckets of a category",
        edited(("buckets = 4", "buckets = 8")),
        "write to a category of another name",
        (edited(('"p", buckets = 4', '"p8", buckets = 8')),),
    ),
    Way(
        "other windows of an aggregate",
        edited(("5 minutes", "10 minutes")),
        "write the new windows as a table of another name beside this one, and remove this one when",
        (QUERY + COUNTED_OTHERWISE, QUERY.replace(N, COUNTED_OTHERWISE)),
    ),
    Way(
        "rows in flight of a join that reads a join",
        edited(("v.t + INTERVAL '1 minute';", "v.t + INTERVAL '1 minute' WHERE c.z > 0;")),
        "leave --reslice out",
        (edited(("v.t + INTERVAL '1 minute';", "v.t + INTERVAL '1 minute' WHERE c.z > 0;")),),
        reslice=True,
    ),
    Way(
        "another name",
        edited(("CREATE APPLICATION app;", "CREATE APPLICATION other;")),
        "or run the new one beside it",
        (edited(("CREATE APPLICATION app;", "CREATE APPLICATION other;")),),
    ),
]


def considered(home: str, text: str, **given: object) -> Takeover:
    program = parse(text, name="new.pql")
    return consider(home, plans_of(trace_program(program)), program, **given)  # type: ignore[arg-type]


@pytest.fixture
def home(tmp_path: Path) -> str:
    home = str(tmp_path)
    take_over(considered(home, QUERY))
    open_store(home).make_folder("apps/app/checkpoints/v")  # as a run would
    return home


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_the_way_that_a_refusal_names_is_accepted(home: str, way: Way) -> None:
    if way.name == "another name":
        old, new = considered(home, QUERY).plan, considered(home, way.refused).plan
        refused = Takeover(home, new, None, None, tuple(compare(old, new)))  # as `dovetail diff app` does
    else:
        refused = considered(home, way.refused, reslice=way.reslice)
    with pytest.raises(StateError) as error:
        require(refused)
    assert way.words in (error.value.hint or "")
    for text in way.taken:
        takeover = considered(home, text, **way.given)
        require(takeover)
        assert takeover.changes or takeover.before is None, "it is what was wanted"
        take_over(takeover)


def test_a_narrower_type_may_begin_afresh(home: str) -> None:
    """The other way of that refusal. A join that another one reads cannot, so it is of the upper one's."""
    narrower = edited(("z INT", "z SMALLINT"))
    alone = narrower.replace("FROM v JOIN c ON v.k = c.k", "FROM a AS v JOIN c ON v.k = c.k")
    assert alone != narrower
    other = str(Path(home) / "other")
    before = alone.replace("z SMALLINT", "z INT")
    take_over(considered(other, before))
    open_store(other).make_folder("apps/app/checkpoints/v")
    with pytest.raises(StateError) as error:
        require(considered(other, alone))
    assert "or start it with --reslice" in (error.value.hint or "")
    takeover = considered(other, alone, reslice=True)
    require(takeover)
    assert takeover.verdict == "afresh"
