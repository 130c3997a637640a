"""Reading which files a micro-batch covers out of a checkpoint as Spark writes it."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.errors import CorruptFile
from dovetail.spark.batch_files import files_of_batch, last_planned
from dovetail.spark.checkpoints import Checkpoint


def entry(path: str, timestamp: int, offset: int) -> str:
    return json.dumps({"path": path, "timestamp": timestamp, "batchId": offset})


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(str(tmp_path), "app", "stage")


@pytest.fixture
def folder(checkpoint: Checkpoint) -> Path:
    folder = Path(checkpoint.uri)
    (folder / "offsets").mkdir(parents=True)
    (folder / "sources" / "0").mkdir(parents=True)
    for batch, offset in enumerate([0, 2, 3]):
        text = f'v1\n{{"batchWatermarkMs":0}}\n{{"logOffset":{offset}}}'
        (folder / "offsets" / str(batch)).write_text(text)
    log = folder / "sources" / "0"
    (log / "0").write_text("\n".join(["v1", entry("b", 5, 0), entry("a", 5, 0)]))
    (log / "2.compact").write_text(
        "\n".join(["v1", entry("b", 5, 0), entry("a", 5, 0), entry("late", 9, 1), entry("early", 7, 2)])
    )
    (log / "3").write_text("\n".join(["v1", entry("last", 20, 3)]))
    return folder


def test_by_arrival_then_by_name(checkpoint: Checkpoint, folder: Path) -> None:
    assert files_of_batch(checkpoint, 0) == ["a", "b"]


def test_several_offsets_and_a_compact_file(checkpoint: Checkpoint, folder: Path) -> None:
    (folder / "sources" / "0" / "0").unlink()
    assert files_of_batch(checkpoint, 1) == ["early", "late"]
    assert files_of_batch(checkpoint, 0) == ["a", "b"]
    assert files_of_batch(checkpoint, 2) == ["last"]


@pytest.mark.parametrize("damage", ["", "v2\n{}\n{}", "v1\n{}\nnonsense", "v1\n{}\n{}"])
def test_another_format_is_refused(checkpoint: Checkpoint, folder: Path, damage: str) -> None:
    (folder / "offsets" / "2").write_text(damage)
    with pytest.raises(CorruptFile) as caught:
        files_of_batch(checkpoint, 2)
    assert caught.value.where is not None
    assert caught.value.where.endswith("offsets/2")


def test_the_last_batch_that_was_planned(checkpoint: Checkpoint, folder: Path) -> None:
    (folder / "offsets" / "3.tmp").touch()
    assert last_planned(checkpoint) == 2
    assert last_planned(replace(checkpoint, query="none yet")) == -1


def test_a_checksum_beside_a_file_is_looked_at(checkpoint: Checkpoint, folder: Path) -> None:
    """As Hadoop keeps it: one CRC for every 512 bytes."""
    log = folder / "sources" / "0" / "3"
    data = log.read_bytes()
    sums = b"crc\0" + (512).to_bytes(4, "big") + zlib.crc32(data).to_bytes(4, "big")
    log.with_name(".3.crc").write_bytes(sums)
    assert files_of_batch(checkpoint, 2) == ["last"]
    log.write_bytes(data.replace(b"last", b"lost"))
    with pytest.raises(CorruptFile, match="checksum"):
        files_of_batch(checkpoint, 2)


@pytest.mark.parametrize(
    "lines", ["", "{", "[]", '{"path": 3, "timestamp": 1, "batchId": 3}', entry("x", 1, 2)]
)
def test_entries_that_are_not_of_the_offset_are_refused(
    checkpoint: Checkpoint, folder: Path, lines: str
) -> None:
    (folder / "sources" / "0" / "3").write_text(f"v1\n{lines}")
    with pytest.raises(CorruptFile) as caught:
        files_of_batch(checkpoint, 2)
    assert caught.value.where is not None
    assert caught.value.where.endswith("sources/0/3")
