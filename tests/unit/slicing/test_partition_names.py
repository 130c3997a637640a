"""Columns in the names of folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.slicing.input_files import input_files, partition_names


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a.parquet", ()),
        ("day=2026-11-17/a.parquet", ("day",)),
        ("day=2026-11-17/hour=7/a.parquet", ("day", "hour")),
        ("plain/day=1/a.parquet", ("day",)),
        ("a%20day=1/a.parquet", ("a day",)),
        ("=1/a.parquet", ()),
    ],
)
def test_names(tmp_path: Path, path: str, names: tuple[str, ...]) -> None:
    file = tmp_path / "in=1" / path  # what is above the place says nothing
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    place = str(tmp_path / "in=1")
    assert partition_names(place, input_files(place, "parquet")) == names


def test_a_place_without_files() -> None:
    assert partition_names("s3://bucket/folder", []) == ()
