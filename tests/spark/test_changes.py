"""Law: through any change that keeps state, each row comes out once: by the old query before it, by the new
one after it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from dovetail.changes.versions import read_version, version_numbers
from dovetail.errors import StateError
from dovetail.log.category import list_categories
from dovetail.plan.application_file import read_current
from dovetail_dev.spark_cluster import until
from spark.application import Application, category_rows
from spark.batch import ON, count, database, differences, join_sql
from spark.events import events, write_files
from spark.running import running
from spark.test_every_change import killed_in

ROWS = 8_000
QUERY = """
    CREATE APPLICATION changing;
    CREATE INPUT TABLE l (eventtime, k, id, v) FROM FILES("{here}/l", format = "parquet");
    CREATE INPUT TABLE r (eventtime, k, id, v) FROM FILES("{here}/r", format = "parquet");
    CREATE VIEW pairs AS SELECT l.id AS l, r.id AS r, COALESCE(r.v, 0) AS v FROM l LEFT JOIN r ON l.k = r.k
        AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
"""
ONE = QUERY + 'CREATE TABLE rows AS SELECT l, r, v FROM pairs STORAGE PARQUET(path = "{here}/out");'


class Stream:
    """Two streams that come in parts; what each run has put out, by path."""

    def __init__(self, application: Application, parts: int) -> None:
        self.application, self.parts, self.fed = application, parts, 0
        self.sides = {"l": events(ROWS, 800, seed=11), "r": events(ROWS, 800, seed=12)}
        self.seen: set[str] = set()

    def feed(self) -> None:
        for name, table in self.sides.items():
            low = self.fed * ROWS // self.parts
            part = table.slice(low, (self.fed + 1) * ROWS // self.parts - low)
            write_files(part, self.application.folder / name, 1, first=self.fed)
        self.fed += 1

    def run(self, query: str, *outputs: str) -> list[pa.Table]:
        """The next part of both streams, through this query: the rows that this run has put out."""
        self.feed()
        self.application.run(query, "drain" if self.fed == self.parts else "available-now")
        return [self.new_in(output) for output in outputs]

    def new_in(self, output: str) -> pa.Table:
        files = [file for file in self.application.files(output) if file not in self.seen]
        self.seen.update(files)
        return pa.concat_tables([pq.ParquetFile(file).read() for file in files])


def test_expressions_columns_and_tables_change_and_no_row_is_lost_or_doubled(
    application: Application,
) -> None:
    stream = Stream(application, 5)
    (first,) = stream.run(ONE, "out")

    wider = ONE.replace("l, r, v FROM", "l, r, v + 1 AS v, l % 10 AS digit FROM")
    (second,) = stream.run(wider, "out")
    assert second.column_names == ["l", "r", "v", "digit"]

    more = (
        'CREATE TABLE big AS SELECT l, r, v FROM pairs WHERE v >= 500 STORAGE PARQUET(path = "{here}/big");'
    )
    third, third_big = stream.run(ONE + more, "out", "big")
    assert third.filter(pc.field("v") >= 500).num_rows == third_big.num_rows > 0

    (fourth,) = stream.run(ONE, "out")
    (fifth,) = stream.run(ONE.replace("{here}/out", "{here}/elsewhere"), "elsewhere")

    second = second.set_column(2, "v", pc.subtract(second["v"], 1)).drop_columns(["digit"])
    parts = [part.cast(first.schema) for part in (first, second, third, fourth, fifth)]
    assert all(part.num_rows for part in parts)
    together = pa.concat_tables(parts)
    db = database(l=stream.sides["l"], r=stream.sides["r"], found=together)
    assert differences(db, "FROM found", join_sql("left", "l.id, r.id, COALESCE(r.v, 0)", ON)) == {}

    home = application.home
    assert version_numbers(home, "changing") == [1, 2, 3, 4, 5]
    last = read_version(home, "changing", 5)
    assert (last.parent, read_current(home, "changing").version) == (4, 5)
    assert last.took_over["pairs"] > read_version(home, "changing", 2).took_over["pairs"]


def test_a_refused_change_names_a_way_that_works_and_touches_nothing(application: Application) -> None:
    stream = Stream(application, 2)
    stream.run(ONE, "out")
    other = ONE.replace(";", ';\nSET TIME ZONE "Europe/Berlin";', 1)
    with pytest.raises(StateError) as refused:
        application.run(other, "available-now")
    assert "time zone" in refused.value.what
    assert "app.pql:3:1\n" in refused.value.where
    assert "keep SET TIME ZONE 'UTC'" in (refused.value.hint or "")
    assert version_numbers(application.home, "changing") == [1]
    stream.run(ONE.replace("COALESCE(r.v, 0)", "coalesce( r.v , 0)"), "out")
    assert version_numbers(application.home, "changing") == [1], "the same meaning, spelled otherwise"


def test_windows_types_and_columns_change_while_rows_are_in_flight(application: Application) -> None:
    """The oracle knows when each pair could first come out: with the later of its rows, or with the change
    that widens the window. So it is compared run by run."""
    stream = Stream(application, 4)
    runs = [
        ONE,
        ONE.replace("- INTERVAL '2 minutes'", "- INTERVAL '10 minutes'"),
        ONE.replace("LEFT JOIN", "FULL JOIN"),
        ONE.replace("l.id AS l,", "l.id AS l, l.v AS lv,").replace(
            "SELECT l, r, v FROM", "SELECT l, lv, r, v FROM"
        ),
    ]
    found = [stream.run(query, "out")[0] for query in runs]
    assert [table.column_names for table in found] == [["l", "r", "v"]] * 3 + [["l", "lv", "r", "v"]]
    assert all(table.num_rows for table in found)
    pairs = pa.concat_tables([table.select(["l", "r"]) for table in found])
    assert pairs.group_by(["l", "r"]).aggregate([([], "count_all")])["count_all"].to_pylist() == [1] * len(
        pairs.group_by(["l", "r"]).aggregate([])
    ), "no row twice"
    db = database(l=stream.sides["l"], r=stream.sides["r"], found=pairs)
    narrow = f"SELECT l.id, r.id FROM l JOIN r ON {ON}"
    assert db.execute(f"SELECT count(*) FROM ({narrow} EXCEPT SELECT l, r FROM found)").fetchone() == (0,)
    known = found[3].filter(pc.is_valid(found[3]["lv"]))
    assert 0 < known.num_rows < found[3].num_rows


def test_a_view_of_a_new_name_takes_the_place_of_one_with_another_key(application: Application) -> None:
    """The paper's way, which errors name where nothing else helps. The old query lets out what it holds. The
    new view is filled from the inputs, and joins all that they have had; its table goes on in the folder of
    the old one. The run that makes the change is killed when the new query counts."""
    stream = Stream(application, 3)
    (first,) = stream.run(ONE, "out")
    application.run(ONE, "drain")
    drained = stream.new_in("out")
    beside = ONE.replace("pairs", "by_value").replace("l.k = r.k", "l.v = r.k * 4")
    killed_in(application, beside, "application.named", [])
    second = stream.run(beside, "out") + stream.run(beside, "out")
    fed = {name: table.slice(0, ROWS // 3) for name, table in stream.sides.items()}
    db = database(**fed, found=pa.concat_tables([first, drained]))
    values = "l.id, r.id, COALESCE(r.v, 0)"
    assert differences(db, "FROM found", join_sql("left", values, ON)) == {}
    db = database(l=stream.sides["l"], r=stream.sides["r"], found=pa.concat_tables(second))
    on = ON.replace("l.k = r.k", "l.v = r.k * 4")
    assert on != ON
    assert differences(db, "FROM found", join_sql("left", values, on)) == {}
    assert count(db, "FROM found WHERE r IS NOT NULL") > 100
    found = read_version(application.home, "changing", 2)
    assert {change.verdict for change in found.changes} == {"kept", "let go"}
    assert [join.name for join in read_current(application.home, "changing").plan.joins] == ["by_value"]
    assert not [name for name in list_categories(application.home) if "pairs" in name]


def test_a_join_feeds_a_table_then_another_join_and_the_table_again(application: Application) -> None:
    """Its state is kept, and each of its rows goes to the one or to the other."""
    stream = Stream(application, 3)
    alone = ONE.replace("SELECT l.id AS l,", "SELECT l.eventtime AS t, l.id AS l,")
    chain = (
        alone[: alone.index("CREATE TABLE rows")]
        + """
        CREATE VIEW above AS SELECT pairs.l AS l, pairs.r AS r, r.v AS v FROM pairs LEFT JOIN r
            ON pairs.l = r.id AND r.eventtime BETWEEN pairs.t - INTERVAL '1 minute' AND pairs.t;
        CREATE TABLE aboves AS SELECT l, r, v FROM above STORAGE PARQUET(path = "{here}/above");
    """
    )
    (first,) = stream.run(alone, "out")
    (above,) = stream.run(chain, "above")
    second = category_rows(application.home, "changing.above.left")
    (third,) = stream.run(alone, "out")
    assert min(part.num_rows for part in (first, above, second, third)) > 0
    found = pa.concat_tables([part.select(["l", "r"]) for part in (first, second, third)])
    db = database(l=stream.sides["l"], r=stream.sides["r"], found=found)
    assert differences(db, "FROM found", join_sql("left", "l.id, r.id", ON)) == {}
    changes = [c for n in (2, 3) for c in read_version(application.home, "changing", n).changes]
    assert {change.rule for change in changes} == {"tables"}


def test_tables_come_that_read_views_which_an_aggregate_and_a_join_read_alone(
    application: Application,
) -> None:
    """Both go on: each row of the views reaches them once, whoever writes it, and the tables get what comes
    out from the change on."""
    stream, home = Stream(application, 3), application.home
    alone = (
        QUERY.replace("SELECT l.id AS l,", "SELECT l.eventtime AS t, l.id AS l,")
        + """
        CREATE TABLE sums AS SELECT window(t, '5 minutes').start AS start, COUNT(*) AS n, SUM(l) AS l,
            SUM(r) AS r FROM pairs GROUP BY window(t, '5 minutes') STORAGE SCRIBE(category = "sums");
        CREATE VIEW low AS SELECT l.eventtime AS t, l.id AS l, r.id AS r FROM l JOIN r ON l.k = r.k
            AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes';
        CREATE VIEW above AS SELECT low.l AS l, low.r AS r, r.v AS v FROM low LEFT JOIN r
            ON low.l = r.id AND r.eventtime BETWEEN low.t - INTERVAL '1 minute' AND low.t;
        CREATE TABLE aboves AS SELECT l, r, v FROM above STORAGE PARQUET(path = "{here}/above");
    """
    )
    beside = (
        alone
        + """
        CREATE TABLE rows AS SELECT l, r FROM pairs STORAGE PARQUET(path = "{here}/out");
        CREATE TABLE lows AS SELECT l, r FROM low STORAGE PARQUET(path = "{here}/low");
    """
    )

    (first,) = stream.run(alone, "above")
    before = [
        category_rows(home, f"changing.{name}").select(["l", "r"]) for name in ("sums.rows", "above.left")
    ]
    second, *tables = stream.run(beside, "above", "out", "low")
    third, *rest = stream.run(beside, "above", "out", "low")
    assert min(part.num_rows for part in (first, second, third, *tables, *rest, *before)) > 0
    rows, lows = (pa.concat_tables(parts) for parts in zip(before, tables, rest, strict=True))
    db = database(
        **stream.sides,
        rows=rows,
        lows=lows,
        above=pa.concat_tables([first, second, third]),
        sums=category_rows(home, "sums"),
    )
    pairs = join_sql("left", "l.id AS l, r.id AS r, l.eventtime AS t", ON)
    low = join_sql("inner", "l.id AS l, r.id AS r, l.eventtime AS t", ON)
    assert differences(db, "FROM rows", f"SELECT l, r FROM ({pairs})") == {}
    assert differences(db, "FROM lows", f"SELECT l, r FROM ({low})") == {}
    on = "l.l = r.id AND r.eventtime BETWEEN l.t - INTERVAL '1 minute' AND l.t"
    assert differences(db, "FROM above", join_sql("left", "l.l, l.r, r.v", on, left=f"({low})")) == {}
    summed = f"""SELECT time_bucket(INTERVAL '5 minutes', t) AS start, count(*), sum(l)::BIGINT,
        sum(r)::BIGINT FROM ({pairs}) WHERE t IS NOT NULL GROUP BY start"""
    assert differences(db, "SELECT start, n, l, r FROM sums", summed) == {}
    changes = read_version(home, "changing", 2).changes
    assert {(change.part, change.verdict) for change in changes} == {
        ("table rows", "kept"),
        ("table lows", "kept"),
    }
    assert version_numbers(home, "changing") == [1, 2], "the second start changes nothing"


def test_a_running_application_hands_over_to_a_changed_query(application: Application) -> None:
    """It ends by itself, in good order, and the new query goes on behind its last step."""
    stream = Stream(application, 2)
    folder = application.folder
    (folder / "old.pql").write_text(ONE.replace("{here}", str(folder)))
    stream.feed()
    with running("run", "old.pql", "--home", application.home, folder=folder) as process:
        listed = folder / "out/_spark_metadata/0"
        until(lambda: listed.exists() or process.poll() is not None, "the first rows come out")
        (after,) = stream.run(ONE.replace("{here}/out", "{here}/new"), "new")
        assert process.wait(300) == 0
    db = database(l=stream.sides["l"], r=stream.sides["r"], old=application.files("out"), new=after)
    together = "FROM old UNION ALL FROM new"
    assert differences(db, together, join_sql("left", "l.id, r.id, COALESCE(r.v, 0)", ON)) == {}
    assert read_version(application.home, "changing", 2).took_over["pairs"] > 0
