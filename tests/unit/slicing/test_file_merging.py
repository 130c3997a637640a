"""Small files become large ones, and at any moment the lists name every row once."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from dovetail.service.committed_files import committed_files
from dovetail.slicing import file_merging
from dovetail.slicing.file_list import LOG, FileList
from dovetail.slicing.file_merging import GRACE_S, NOTES, FileMerging, merge_parquet
from dovetail.slicing.parquet_output import WrittenFile

DAYS = ("2026-01-01", "2026-01-02")


def parquet(path: Path, numbers: list[int]) -> None:
    pq.write_table(pa.table({"n": numbers}), path)


def lines(path: Path, numbers: list[int]) -> None:
    path.write_text("".join(json.dumps({"n": n}) + "\n" for n in numbers))


def with_header(path: Path, numbers: list[int]) -> None:
    path.write_text("n\n" + "".join(f"{n}\n" for n in numbers))


WAYS: dict[str, Callable[[Path, list[int]], None]] = {"parquet": parquet, "json": lines, "csv": with_header}


class Output:
    """A folder that a sink fills, two files for each batch."""

    def __init__(self, folder: Path, form: str, every: int = 10) -> None:
        self.folder, self.form, self.batches = folder, form, 0
        self.lists = FileList(str(folder))
        self.merging = FileMerging(str(folder), form, header=form == "csv", every=every)

    def fill(self, upto: int) -> Output:
        for batch in range(self.batches, upto):
            self.lists.add(batch, [self._file(batch, day) for day in (0, 1)])
        self.batches = upto
        return self

    def _file(self, batch: int, day: int) -> WrittenFile:
        path = self.folder / f"day={DAYS[day]}" / f"part-{batch:05}.{self.form}"
        path.parent.mkdir(parents=True, exist_ok=True)
        WAYS[self.form](path, [batch * 4 + day * 2, batch * 4 + day * 2 + 1])
        return WrittenFile(str(path), path.stat().st_size, 0)

    @property
    def rows(self) -> dict[str, list[int]]:
        named = committed_files(self.folder)
        assert len(named) == len(set(named))
        found: dict[str, list[int]] = {day: [] for day in DAYS}
        for path in named:
            rows = ds.dataset(path, format=self.form).to_table()["n"].to_pylist()
            found[Path(path).parent.name.removeprefix("day=")] += rows
        return {day: sorted(rows) for day, rows in found.items()}

    @property
    def files(self) -> list[str]:
        return sorted(str(path) for path in self.folder.glob(f"day=*/part-*.{self.form}"))


def expected(batches: int) -> dict[str, list[int]]:
    return {day: [n for n in range(batches * 4) if n % 4 // 2 == at] for at, day in enumerate(DAYS)}


@pytest.mark.parametrize("form", WAYS)
def test_a_file_of_each_folder_takes_the_place_of_many(tmp_path: Path, form: str) -> None:
    output = Output(tmp_path, form).fill(9)
    assert output.merging.look() == 0, "there is no whole list yet"
    output.fill(12)
    (tmp_path / LOG / ".9.compact.crc").write_bytes(b"of the list before")
    assert output.merging.look(now_s=0.0) == 20
    assert output.merging.look(now_s=1.0) == 0
    assert output.rows == expected(12)
    assert len(committed_files(tmp_path)) == 2 + 4
    assert len(output.files) == 24 + 2, "somebody may still read them"
    assert not (tmp_path / LOG / ".9.compact.crc").exists()

    output.fill(20)
    assert output.merging.look(now_s=GRACE_S - 1) == 2 + 20
    assert output.rows == expected(20)
    output.fill(30).merging.look(now_s=2 * GRACE_S)
    assert output.rows == expected(30)
    output.fill(40).merging.look(now_s=4 * GRACE_S)
    assert output.rows == expected(40)
    assert len(committed_files(tmp_path)) == 2
    assert len(output.files) == 2 + 22, "only those of the last round are left"


def test_a_list_that_spark_had_read_before(tmp_path: Path) -> None:
    """It makes the next whole list from the small files, so these stay, and the large ones go."""
    output = Output(tmp_path, "json").fill(19)
    before = (tmp_path / LOG / "9.compact").read_text()
    assert output.merging.look(now_s=0.0) == 20
    large = {path for path in committed_files(tmp_path) if path.endswith("-c000.json")}
    (tmp_path / LOG / "9.compact").write_text(before)
    output.fill(20)
    assert output.rows == expected(20)
    output.merging.look(now_s=GRACE_S)
    assert output.rows == expected(20)
    assert len(large) == 2
    assert not large & set(output.files)


def test_a_newer_whole_list_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output(tmp_path, "json").fill(10)
    monkeypatch.setattr(file_merging, "crash_point", lambda *_: output.fill(20))
    output.merging.look(now_s=0.0)
    assert output.rows == expected(20)
    assert len(committed_files(tmp_path)) == 40
    monkeypatch.undo()
    output.merging.look(now_s=GRACE_S)
    assert output.rows == expected(20)
    assert len(output.files) == 40 + 2


@pytest.mark.parametrize("moment", ["noted", "named"])
def test_whoever_dies_leaves_nothing_behind(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = Output(tmp_path, "csv").fill(10)

    def die(kind: str, reached: str) -> None:
        if reached == moment:
            raise KeyboardInterrupt

    monkeypatch.setattr(file_merging, "crash_point", die)
    with pytest.raises(KeyboardInterrupt):
        output.merging.look(now_s=0.0)
    monkeypatch.undo()
    assert output.rows == expected(10)
    output.fill(20).merging.look(now_s=GRACE_S)
    output.fill(30).merging.look(now_s=2 * GRACE_S)
    assert output.rows == expected(30)
    output.fill(40).merging.look(now_s=3 * GRACE_S)
    assert set(committed_files(tmp_path)) < set(output.files)
    noted = json.loads((tmp_path / NOTES).read_text())["rounds"]
    assert {path for one in noted for path in one["files"]} >= set(output.files), "all others are gone"
    assert output.rows == expected(40)


def test_not_before_its_time(tmp_path: Path) -> None:
    output = Output(tmp_path, "json", every=20)
    assert output.fill(19).merging.look() == 0
    assert output.fill(20).merging.look() == 40


def test_large_files_and_files_of_other_columns_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output(tmp_path, "parquet").fill(9)
    changed = tmp_path / "day=2026-01-01" / "part-x.parquet"
    pq.write_table(pa.table({"n": [1000], "more": ["x"]}), changed)
    large = tmp_path / "day=2026-01-01" / "part-y.parquet"
    parquet(large, list(range(2000, 5000)))
    monkeypatch.setattr(file_merging, "LARGE_BYTES", large.stat().st_size)
    output.lists.add(9, [WrittenFile(str(path), path.stat().st_size, 0) for path in (changed, large)])
    assert output.merging.look() == 18
    assert {str(changed), str(large)} < set(committed_files(tmp_path))


def _nested(count: int) -> pa.Table:
    moments = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC), None]
    columns: dict[str, Any] = {
        "t": pa.array(moments[:count], pa.timestamp("us", "UTC")),
        "d": pa.array([Decimal("1.50"), Decimal("-2.25"), None][:count], pa.decimal128(9, 2)),
        "l": pa.array([[1, 2], [], None][:count], pa.list_(pa.int32())),
        "b": pa.array([b"x", None, b""][:count], pa.binary()),
        "i": pa.array([1, None, -1][:count], pa.int8()),
    }
    return pa.table(columns)


@pytest.mark.parametrize("int96", [False, True])
def test_types_and_notes_stay(tmp_path: Path, int96: bool) -> None:
    files = [tmp_path / name for name in ("a.snappy.parquet", "b.snappy.parquet")]
    for path, rows in zip(files, (_nested(3), _nested(2)), strict=True):
        with pq.ParquetWriter(
            path,
            rows.schema,
            version="1.0",
            store_schema=False,
            store_decimal_as_integer=True,
            use_deprecated_int96_timestamps=int96,
        ) as writer:
            writer.write_table(rows)
            writer.add_key_value_metadata({"org.apache.spark.version": "4.3.0"})
    merge_parquet(files, tmp_path / "made.parquet")
    made, first = pq.read_metadata(tmp_path / "made.parquet"), pq.read_metadata(files[0])
    assert made.schema.equals(first.schema)
    assert (made.metadata or {})[b"org.apache.spark.version"] == b"4.3.0"
    assert made.row_group(0).column(0).compression == first.row_group(0).column(0).compression

    def read(path: Path) -> list[dict[str, Any]]:
        return pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read().to_pylist()

    assert read(tmp_path / "made.parquet") == [*read(files[0]), *read(files[1])]
