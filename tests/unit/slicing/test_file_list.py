"""The list of files that is written without Spark has the bytes of one that Spark has written."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.errors import StateError
from dovetail.slicing.file_list import LOG, FileList
from dovetail.slicing.parquet_output import WrittenFile

FILES = [WrittenFile(f"/out/part {number}.parquet", 100 + number, 1_700_000_000_000) for number in range(25)]
LINE = (
    '{"path":"file:///out/part%200.parquet","size":100,"isDir":false,"modificationTime":1700000000000,'
    '"blockReplication":1,"blockSize":33554432,"action":"add"}'
)
"""As Spark 4.3 writes it."""


def named(path: Path) -> list[str]:
    version, *lines = path.read_text().split("\n")
    assert version == "v1"
    return [line.partition("%20")[2].partition(".")[0] for line in lines]


def test_a_list_names_the_files_of_its_batch(tmp_path: Path) -> None:
    files = FileList(str(tmp_path))
    files.add(0, FILES[:1])
    files.add(1, [])
    assert (tmp_path / LOG / "0").read_text() == f"v1\n{LINE}"
    assert (tmp_path / LOG / "1").read_text() == "v1"
    files.add(0, FILES[1:2])  # the batch has run again, and its files have other names
    assert named(tmp_path / LOG / "0") == ["0"]
    assert sorted(path.name for path in (tmp_path / LOG).iterdir()) == ["0", "1"]


def test_every_tenth_list_is_whole(tmp_path: Path) -> None:
    files = FileList(str(tmp_path))
    for batch, file in enumerate(FILES):
        files.add(batch, [file])
    assert files.is_usual()
    assert named(tmp_path / LOG / "9.compact") == [str(number) for number in range(10)]
    assert named(tmp_path / LOG / "19.compact") == [str(number) for number in range(20)]
    assert named(tmp_path / LOG / "20") == ["20"]


def test_a_whole_list_needs_those_before_it(tmp_path: Path) -> None:
    files = FileList(str(tmp_path))
    for batch in range(9):
        files.add(batch, FILES[batch : batch + 1])
    (tmp_path / LOG / "4").unlink()
    with pytest.raises(StateError, match="lacks batch 4"):
        files.add(9, FILES[9:10])


def test_lists_that_are_whole_elsewhere_are_left_to_spark(tmp_path: Path) -> None:
    files = FileList(str(tmp_path))
    files.add(0, FILES[:1])
    (tmp_path / LOG / "1.compact").write_text("v1")
    assert not files.is_usual()
