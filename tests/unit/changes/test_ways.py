"""Law: every refusal names a way that works. Here the ways are taken, word for word, and accepted: each gives
what was wanted, by another query or another option."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest

from dovetail.changes.compare import compare
from dovetail.changes.positions import positions_in
from dovetail.changes.takeover import Takeover, consider, require, take_over
from dovetail.errors import StateError
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse
from dovetail.slicing.write_rows import bucket_of, time_of
from unit.changes.test_rules_golden import cases, changes

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
P = QUERY[QUERY.index("CREATE TABLE p ") : QUERY.index("CREATE TABLE n ")]
P_COUNTED = P.replace("k, x FROM s", "window(t, '1 minute').start AS since, COUNT(*) AS n FROM s")
P_COUNTED = P_COUNTED.replace("FROM s", "FROM s GROUP BY window(t, '1 minute')")
S = QUERY[QUERY.index("CREATE VIEW s ") : QUERY.index("CREATE TABLE p ")]


@dataclass(frozen=True)
class Way:
    """`words` of the refusal lead from `refused` to each of the queries `taken`, one after the other.
    `between`: versions after `before`."""

    name: str
    refused: str
    words: str
    taken: tuple[str, ...]
    reslice: bool = False
    before: str = QUERY
    between: tuple[str, ...] = ()
    given: dict[str, object] = field(default_factory=dict)


def renamed(text: str, *views: str) -> str:
    for view in views:
        text = re.sub(rf"\b{view}\b", f"{view}2", text)
    return text


UPPER_KEYS = edited(("ON v.k = c.k", "ON v.x = c.z"))
BESIDE = "give the changed view a new name, and the join that it reads, if there is one, another"
ONLY_SOME = "a.t + INTERVAL '1 minute' WHERE b.y > 0;\n"
V = QUERY[QUERY.index("CREATE VIEW v ") : QUERY.index("CREATE VIEW w ")]
LOWER_FILTER = QUERY.replace(V, V.replace("a.t + INTERVAL '1 minute';\n", ONLY_SOME))
SHARED_FILTER = edited(("a.t + INTERVAL '1 minute';\nCREATE TABLE p", f"{ONLY_SOME}CREATE TABLE p"))
NEAR = edited(
    ("ON a.k = b.k\n", "ON a.x - b.y BETWEEN -5 AND 5\n"),
    ("ON v.k = c.k\n", "ON v.x - c.z BETWEEN -5 AND 5\n"),
)
NEAR_OTHERS = NEAR.replace("v.x - c.z", "v.x % 10 - c.z")
CHAIN = QUERY[: QUERY.index("CREATE VIEW s ")]
LOWER_ROWS_KEY = CHAIN.replace("ON v.k = c.k", "ON v.x = c.k")
BY_TOPIC = edited(
    ('FILES("/in/a", format = "parquet")', 'KAFKA("t", brokers = "b:9092", format = "json", options)')
)
TWO = "CREATE VIEW two AS SELECT t, k, y FROM b UNION ALL SELECT t, k, z FROM c;"
LOOKED_UP = f"""{QUERY}
CREATE LOOKUP TABLE names (k BIGINT, name STRING, city STRING) FROM PARQUET("/names.parquet");
CREATE VIEW named AS SELECT c.z AS z, n.name AS name FROM c LEFT JOIN TABLE names AS n ON c.k = n.k;
CREATE TABLE named_rows AS SELECT z, name FROM named STORAGE NOOP;
"""
OTHER = "CREATE TABLE other AS SELECT k FROM s STORAGE NOOP;\n"
EARLIER = QUERY + 'CREATE TABLE e AS SELECT k FROM a STORAGE PARQUET(path = "{home}/theirs");\n'
AGAIN = QUERY + 'CREATE TABLE f AS SELECT x FROM a STORAGE PARQUET(path = "{home}/theirs");\n'
COUNTED = N.replace("STORAGE NOOP", 'STORAGE SCRIBE(category = "counted")')
WAYS = [
    Way(
        "other keys of a join that reads a join",
        UPPER_KEYS,
        BESIDE,
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
        "an expression of a narrower type, in the type that the column had",
        edited(("SELECT k, x FROM s", "SELECT CAST(k AS INT) AS k, x FROM s")),
        "write CAST(CAST(k AS INT) AS BIGINT) AS k",
        (edited(("SELECT k, x FROM s", "SELECT CAST(CAST(k AS INT) AS BIGINT) AS k, x FROM s")),),
    ),
    Way(
        "an expression of a narrower type, as another column",
        edited(("SELECT k, x FROM s", "SELECT CAST(k AS INT) AS k, x FROM s")),
        "or give the column another name",
        (edited(("SELECT k, x FROM s", "SELECT CAST(k AS INT) AS short, x FROM s")),),
    ),
    Way(
        "another source",
        edited(("/in/a", "/in/elsewhere")),
        "say where it begins: --from a=latest, or earliest, a commit number, a time",
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
        "a side in common, of the join that changes",
        SHARED_FILTER,
        BESIDE,
        (renamed(SHARED_FILTER, "s", "p", "n"),),
    ),
    Way(
        "a side in common with a join that changes",
        LOWER_FILTER,
        BESIDE,
        (renamed(LOWER_FILTER, "v", "w"),),
    ),
    Way(
        "what a condition compares, of a join that reads a join",
        NEAR_OTHERS,
        BESIDE,
        (renamed(NEAR_OTHERS, "v", "w"),),
        before=NEAR,
    ),
    Way(
        "the key of a join's rows, which another one reads",
        LOWER_ROWS_KEY,
        BESIDE,
        (renamed(LOWER_ROWS_KEY, "v", "w"),),
        before=CHAIN,
    ),
    Way(
        "another view under a table",
        edited(("SELECT k, x FROM s", "SELECT k, x FROM a")) + OTHER,
        "give table p a new name, and another place if it has one",
        (
            edited(
                ("CREATE TABLE p AS SELECT k, x FROM s", "CREATE TABLE p2 AS SELECT k, x FROM a"),
                ('category = "p"', 'category = "p2"'),
            )
            + OTHER,
        ),
        before=QUERY + OTHER,
    ),
    Way(
        "one more input of a side",
        edited(
            (
                "CREATE VIEW w",
                f"{TWO} CREATE VIEW w",
            ),
            ("FROM v JOIN c ON v.k", "FROM v JOIN two AS c ON v.k"),
            ("c.z AS z", "c.y AS z"),
        ),
        BESIDE,
        (
            renamed(
                edited(
                    (
                        "CREATE VIEW w",
                        f"{TWO} CREATE VIEW w",
                    ),
                    ("FROM v JOIN c ON v.k", "FROM v JOIN two AS c ON v.k"),
                    ("c.z AS z", "c.y AS z"),
                ),
                "v",
                "w",
            ),
        ),
    ),
    Way(
        "an aggregate that becomes the only reader of a view",
        QUERY.replace(P, ""),
        "keep another table that reads s: with STORAGE NOOP, if its rows are not wanted",
        (QUERY.replace(P, "CREATE TABLE p AS SELECT k, x FROM s STORAGE NOOP;\n"),),
    ),
    Way(
        "another name of a table that stays where it is",
        edited(("CREATE TABLE p ", "CREATE TABLE p2 ")),
        "keep the name p, or give p2 another place",
        (edited(("CREATE TABLE p ", "CREATE TABLE p2 "), ('category = "p"', 'category = "p2"')),),
    ),
    Way(
        "another key of a lookup",
        LOOKED_UP.replace("c.k = n.k", "c.z = n.k"),
        "give view named a new name, and the tables that read it a new name and place",
        (re.sub(r"\bnamed(?=_|\b)", "newly", LOOKED_UP).replace("c.k = n.k", "c.z = n.k"),),
        before=LOOKED_UP,
    ),
    Way(
        "a table that becomes an aggregate",
        QUERY.replace(P, P_COUNTED),
        "give the changed view or table a new name, and a table another place if it has one",
        (QUERY.replace(P, P_COUNTED.replace("TABLE p ", "TABLE p2 ").replace('"p"', '"p2"')),),
    ),
    Way(
        "another application for a view that becomes something else",
        QUERY.replace(P, P_COUNTED),
        "or start the application under another name",
        (QUERY.replace(P, P_COUNTED.replace('"p"', '"p2"')).replace("APPLICATION app", "APPLICATION app2"),),
    ),
    Way(
        "a topic",
        BY_TOPIC.replace(", options", ""),
        'say where a begins, in the query: start = "latest", or earliest, a time, offsets',
        (BY_TOPIC.replace("options", 'start = "earliest"'),),
    ),
    Way(
        "a table of a lake",
        edited(('FILES("/in/a", format = "parquet")', 'DELTA("/lake/a")')),
        'say where a begins, in the query: start = "latest", or earliest, a version',
        (edited(('FILES("/in/a", format = "parquet")', 'DELTA("/lake/a", start = "earliest")')),),
    ),
    Way(
        "a folder of others",
        edited(("FROM w STORAGE NOOP", 'FROM w STORAGE PARQUET(path = "{home}/theirs")')),
        "give the table another path",
        (edited(("FROM w STORAGE NOOP", 'FROM w STORAGE PARQUET(path = "{home}/own")')),),
    ),
    Way(
        "a folder of an earlier table, for one whose input is no category",
        AGAIN,
        "give the table another path",
        (AGAIN.replace("theirs", "own"),),
        before=EARLIER,
        between=(QUERY,),
    ),
    Way(
        "a category of an earlier aggregate of this name",
        QUERY.replace(N, COUNTED),
        "give the table another name, or another category",
        (
            QUERY.replace(N, COUNTED).replace("TABLE n ", "TABLE n2 "),
            QUERY.replace(N, COUNTED).replace('"counted"', '"counted2"'),
        ),
        before=QUERY.replace(N, COUNTED),
        between=(QUERY.replace(N, ""),),
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


def started(home: str, text: str = QUERY) -> str:
    take_over(considered(home, text.replace("{home}", home)))
    open_store(home).make_folder("apps/app/checkpoints/v")  # as a run would
    (Path(home) / "theirs" / "_spark_metadata").mkdir(parents=True)
    (Path(home) / "theirs" / "_spark_metadata" / "0").write_text("v1")
    counted = Category.create(home, "counted", pa.schema([("n", pa.int64())]), buckets=1)
    batch = pa.RecordBatch.from_pylist([{"n": 1}], counted.schema)
    counted.append(
        counted.write_segments([batch], bucket_of(None, 1), time_of(None)), producer="app.n", batch=0
    )
    return home


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_the_way_that_a_refusal_names_is_accepted(tmp_path: Path, way: Way) -> None:
    home = started(str(tmp_path), way.before)
    for text in way.between:
        take_over(considered(home, text))
    if way.name == "another name":
        old, new = considered(home, QUERY).plan, considered(home, way.refused).plan
        refused = Takeover(home, new, None, None, tuple(compare(old, new)))  # as `dovetail diff app` does
    else:
        refused = considered(home, way.refused.replace("{home}", home), reslice=way.reslice)
    with pytest.raises(StateError) as error:
        require(refused)
    assert way.words in (error.value.hint or "")
    for text in way.taken:
        takeover = considered(home, text.replace("{home}", home), **way.given)
        require(takeover)
        assert takeover.changes or takeover.before is None, "it is what was wanted"
        take_over(takeover)


def test_every_refusal_has_its_way_here() -> None:
    """All that the golden cases have, which are there for each rule, but for the names in it."""
    names = re.compile(
        r"\b(a|s|x|p|p2|named|owned|clicked|result|shown|views|price|ad_id|impressions|sales|SMALLINT|INT|BIGINT|FLOAT|DOUBLE)\b"
    )
    known = [names.sub("_", way.words) for way in WAYS]
    for case in cases():
        for change in changes(*case.values[:2]):
            if change.verdict == "refused":
                assert any(words in names.sub("_", str(change.instead)) for words in known), change


def test_a_narrower_type_may_begin_afresh(tmp_path: Path) -> None:
    """The other way of that refusal. A join that another one reads cannot, so it is of the upper one's."""
    narrower = edited(("z INT", "z SMALLINT"))
    alone = narrower.replace("FROM v JOIN c ON v.k = c.k", "FROM a AS v JOIN c ON v.k = c.k")
    assert alone != narrower
    other = started(str(tmp_path), alone.replace("z SMALLINT", "z INT"))
    with pytest.raises(StateError) as error:
        require(considered(other, alone))
    assert "or start it with --reslice" in (error.value.hint or "")
    takeover = considered(other, alone, reslice=True)
    require(takeover)
    assert takeover.verdict == "afresh"
