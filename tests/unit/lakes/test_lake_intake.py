"""Tables of lakes as streams: every appended row once, through restarts; what changes rows is no stream."""

from __future__ import annotations

import datetime
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from dovetail.connectors.iceberg_merge import merge_files
from dovetail.connectors.lake_kinds import LAKES, open_lake
from dovetail.errors import CorruptFile, InputError, Unreachable
from dovetail.lakes import lake_intake
from dovetail.lakes.covered_versions import CoveredVersions, covered
from dovetail.lakes.lake_intake import PATIENCE_S, LakeIntake, LakeReading
from dovetail.log.category import Category
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.sides import append_parts
from unit.connectors.places import IcebergPlace

MOMENT = datetime.datetime(2026, 11, 17, tzinfo=datetime.UTC)
STORED = pa.schema([("id", pa.int64()), ("part", pa.string()), ("t", pa.timestamp("us", "UTC"))])


def rows(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table([[*numbers], [f"p {n % 2}" for n in numbers], [MOMENT] * count], schema=STORED)


class Delta:
    kind = "DELTA"

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "table")
        self.options = {"path": self.path}

    def append(self, table: pa.Table) -> None:
        write_deltalake(self.path, table, mode="append", partition_by=["part"], schema_mode="merge")

    def merge(self) -> None:
        DeltaTable(self.path).optimize.compact()

    def delete(self) -> None:
        DeltaTable(self.path).delete("id = 1")

    def version(self) -> int:
        return int(DeltaTable(self.path).version())

    def replace(self) -> None:
        import shutil

        shutil.rmtree(self.path)
        self.append(rows(0, 1))


class Iceberg:
    kind = "ICEBERG"

    def __init__(self, folder: Path) -> None:
        self.options = IcebergPlace(folder).options
        self.on_s3: dict[str, str] = {}
        (folder / "lake").mkdir()

    def _catalog(self) -> Any:
        from pyiceberg.catalog import load_catalog

        warehouse = self.options["warehouse"]
        place = warehouse if "://" in warehouse else f"file://{warehouse}"
        return load_catalog("dovetail", type="sql", uri=self.options["uri"], warehouse=place, **self.on_s3)

    def _table(self) -> Any:
        return self._catalog().load_table("results.pairs")

    def append(self, table: pa.Table) -> None:
        catalog = self._catalog()
        catalog.create_namespace_if_not_exists("results")
        made = catalog.create_table_if_not_exists("results.pairs", table.schema)
        with made.update_schema() as change:
            change.union_by_name(table.schema)
        made.append(table)

    def merge(self) -> None:
        merge_files(self._table(), ())

    def delete(self) -> None:
        self._table().delete("id == 1")

    def version(self) -> int:
        return int(self._table().current_snapshot().snapshot_id)

    def replace(self) -> None:
        self._catalog().drop_table("results.pairs")
        self.append(rows(0, 1))


Place = Delta | Iceberg


@pytest.fixture(params=[Delta, Iceberg])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    made: Place = request.param(tmp_path)
    return made


class Stream:
    def __init__(self, place: Place, home: Path, schema: pa.Schema = STORED) -> None:
        self.place, self.home, self.now_s = place, str(home / "home"), 0.0
        self.category = Category.create(self.home, "app.lake", schema)
        self.slicer = Slicer("app", "lake", "a place")

    def open(self, **reading: Any) -> LakeIntake:
        lake = open_lake(self.place.kind, self.place.options.items())
        return LakeIntake(self.category, self.slicer, lake, LakeReading(**reading), clock=lambda: self.now_s)

    def take_in(self, intake: LakeIntake, most: int = 1000) -> None:
        self.now_s += 1
        intake.look()
        with ThreadPoolExecutor(2) as threads:
            while intake.more() and most:
                part = intake.take()
                written = part.write(threads)
                append_parts(self.category, written, "app.lake", intake.next_batch, None, part.covers)
                intake.appended(part)
                most -= 1

    def ids(self) -> list[int]:
        commits = self.category.commits(self.category.first_commit(), self.category.next_commit())
        segments = [segment for commit in commits for segment in commit.segments]
        return [n for one in segments for n in self.category.open_segment(one).batch["id"].to_pylist()]


@pytest.fixture(params=["one run", "a run for each file"])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    if request.param == "one run":
        return 1000
    monkeypatch.setattr(lake_intake, "BATCH_FILES", 1)
    return 1


def drain(stream: Stream, most: int, **reading: Any) -> None:
    """Until nothing is new; with a new reader for each commit, if it is only allowed one."""
    before = -1
    while before != stream.category.next_commit():
        before = stream.category.next_commit()
        stream.take_in(stream.open(**reading), most)


def test_every_appended_row_comes_once(place: Place, tmp_path: Path, most: int) -> None:
    stream = Stream(place, tmp_path)
    place.append(rows(0, 4))
    place.append(rows(4, 3))
    drain(stream, most)
    assert sorted(stream.ids()) == [*range(7)]
    place.append(rows(7, 5))
    place.merge()
    place.append(rows(12, 2))
    drain(stream, most)
    assert sorted(stream.ids()) == [*range(14)]


def test_rows_of_one_reader_that_lives(place: Place, tmp_path: Path) -> None:
    stream = Stream(place, tmp_path)
    place.append(rows(0, 4))
    intake = stream.open()
    stream.take_in(intake)
    for first in range(4, 10, 2):
        assert not intake.waiting().files
        place.append(rows(first, 2))
        stream.take_in(intake)
        assert intake.settled_us is not None
        assert sorted(stream.ids()) == [*range(first + 2)]


@pytest.mark.parametrize("start", ["latest", "version"])
def test_where_reading_begins(place: Place, tmp_path: Path, start: str) -> None:
    stream = Stream(place, tmp_path)
    place.append(rows(0, 2))
    place.append(rows(2, 2))
    where = "latest" if start == "latest" else str(place.version())
    stream.take_in(stream.open(start=where))
    place.append(rows(4, 2))
    stream.take_in(stream.open(start=where))
    assert sorted(stream.ids()) == ([4, 5] if start == "latest" else [2, 3, 4, 5])
    with pytest.raises(InputError, match=r"has no (version|snapshot) 123456"):
        Stream(place, tmp_path / "other").open(start="123456").look()


def test_a_version_that_changes_rows_stops_the_run(place: Place, tmp_path: Path) -> None:
    stream = Stream(place, tmp_path)
    place.append(rows(0, 4))
    intake = stream.open()
    stream.take_in(intake)
    place.append(rows(4, 2))
    place.delete()
    place.append(rows(6, 2))
    stream.take_in(intake)
    assert sorted(stream.ids()) == [*range(6)], "what came before it is read"
    assert not intake.exhausted
    with pytest.raises(InputError, match="changes rows that were there") as refused:
        intake.look()
    assert 'on_change = "skip"' in str(refused.value.hint)
    with pytest.raises(InputError, match="changes rows that were there"):
        stream.take_in(stream.open(finite=True))
    stream.take_in(stream.open(skips=True))
    assert sorted(stream.ids()) == [*range(8)]
    last = covered(stream.category, "app.lake", "a place")
    assert last is not None
    assert len(last.skipped) == 1


def test_columns_that_come_later_and_partitions(place: Place, tmp_path: Path) -> None:
    more = pa.schema([("part", pa.string()), ("id", pa.int64()), ("extra", pa.float64())])
    stream = Stream(place, tmp_path, more)
    place.append(rows(0, 2))
    place.append(rows(2, 2).append_column("extra", pa.array([1.5, None])))
    stream.take_in(stream.open())
    commits = stream.category.commits(0, stream.category.next_commit())
    found = [
        row
        for commit in commits
        for one in commit.segments
        for row in stream.category.open_segment(one).batch.to_pylist()
    ]
    assert sorted((row["id"], row["part"], row["extra"]) for row in found) == [
        (0, "p 0", None),
        (1, "p 1", None),
        (2, "p 0", 1.5),
        (3, "p 1", None),
    ]


def test_a_table_that_was_made_again(place: Place, tmp_path: Path) -> None:
    stream = Stream(place, tmp_path)
    place.append(rows(0, 2))
    stream.take_in(stream.open())
    place.replace()
    with pytest.raises(InputError, match="is not the one that was read before"):
        stream.open().look()


def test_a_type_that_does_not_fit(place: Place, tmp_path: Path) -> None:
    stream = Stream(place, tmp_path, pa.schema([("part", pa.int64())]))
    place.append(rows(0, 2))
    with pytest.raises(InputError, match="column part cannot be read as int64"):
        stream.take_in(stream.open())


def test_a_table_that_is_not_there(place: Place, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no (Delta|Iceberg) table"):
        Stream(place, tmp_path).open().look()


def test_a_table_that_is_away(tmp_path: Path) -> None:
    class Away:
        place = "the table"

        def about(self) -> Any:
            raise Unreachable("it is being moved")

    stream = Stream(Delta(tmp_path), tmp_path)
    intake = LakeIntake(
        stream.category,
        stream.slicer,
        Away(),
        LakeReading(finite=True),
        clock=lambda: stream.now_s,  # type: ignore[arg-type]
    )
    stream.take_in(intake)
    assert intake.waiting().trouble == "waiting for the table: it is being moved"
    assert intake.settled_us is None
    stream.now_s += PATIENCE_S + 1
    with pytest.raises(InputError, match="waiting for the table"):
        intake.look()


def test_versions_whose_log_is_gone(tmp_path: Path) -> None:
    place = Delta(tmp_path)
    stream = Stream(place, tmp_path)
    place.append(rows(0, 2))
    stream.take_in(stream.open())
    place.append(rows(2, 2))
    DeltaTable(place.path).create_checkpoint()
    Path(f"{place.path}/_delta_log/{1:020d}.json").unlink()
    with pytest.raises(InputError, match=r"version 1 of Delta table .* is gone from its log"):
        stream.open().look()


@pytest.mark.parametrize("damage", [b"{", b"[]", b'{"add": 7}', b'{"add": {"path": "x", "size": "y"}}'])
def test_a_damaged_log_of_a_table(tmp_path: Path, damage: bytes) -> None:
    place = Delta(tmp_path)
    place.append(rows(0, 2))
    Path(f"{place.path}/_delta_log/{0:020d}.json").write_bytes(damage)
    with pytest.raises(InputError, match=r"version 0 of Delta table .* cannot be read"):
        open_lake("DELTA", place.options.items()).added(0)


def test_rows_that_a_vector_deletes_do_not_come_in(tmp_path: Path) -> None:
    """The library lists such a file as if it were whole, so the versions' own files are asked."""
    import deltalake

    place = Delta(tmp_path)
    deltalake.write_deltalake(place.path, rows(0, 3), configuration={"delta.enableDeletionVectors": "true"})
    lake = open_lake("DELTA", place.options.items())
    assert len(lake.whole(0)) == 1, "allowed is not used"
    log = Path(f"{place.path}/_delta_log/{0:020d}.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    for action in actions:
        if "add" in action:
            action["add"]["deletionVector"] = vector
    log.write_text("\n".join(map(json.dumps, actions)))
    with pytest.raises(InputError, match=r"version 0 of Delta table .* deletes rows of a file that it keeps"):
        open_lake("DELTA", place.options.items()).whole(0)


def test_a_commit_that_says_nonsense(tmp_path: Path) -> None:
    stream = Stream(Delta(tmp_path), tmp_path)
    nonsense = CoveredVersions("id", 7).to_json() | {"version": "seven"}
    append_parts(stream.category, [], "app.lake", 0, None, nonsense)
    with pytest.raises(CorruptFile, match="up to which version"):
        stream.open()


def test_every_lake_is_tested() -> None:
    assert set(LAKES) == {Delta.kind, Iceberg.kind}
