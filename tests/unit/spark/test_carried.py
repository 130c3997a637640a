"""Spark's progress in a folder of a host, with a copy in the home. Any home will do for that."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.engine import carried
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.spark.batch_files import last_done, last_planned
from dovetail.spark.checkpoints import Checkpoint

FOLDER = "apps/app/checkpoints/join"


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture(autouse=True)
def _one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried, "is_carried", lambda home: True)
    on_host("one", tmp_path, monkeypatch)


def on_host(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on this is a process that has just begun on that host."""
    (tmp_path / name).mkdir(exist_ok=True)
    monkeypatch.setattr(carried, "hosts_folder", lambda: tmp_path / name)
    carried.bring.cache_clear()


def spark_writes(store: Store, *paths: str) -> None:
    for path in paths:
        store.make_folder(f"{FOLDER}/{path}".rpartition("/")[0])
        store.replace(f"{FOLDER}/{path}", path.encode())


def test_another_host_goes_on_from_the_copy(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = Checkpoint(home, "app", "join")
    spark_writes(checkpoint.store, "offsets/0", "commits/0", "offsets/1", "offsets/.1.crc")
    checkpoint.keep()
    spark_writes(checkpoint.store, "commits/1", "offsets/2")  # batch 2 has not begun to count
    on_host("two", tmp_path, monkeypatch)
    assert (last_planned(checkpoint), last_done(checkpoint)) == (1, 0)
    assert sorted(checkpoint.store.names(f"{FOLDER}/offsets")) == ["0", "1"]
    assert checkpoint.store.read(f"{FOLDER}/offsets/1") == b"offsets/1"
    spark_writes(checkpoint.store, "commits/1", "offsets/2", "commits/2", "offsets/3")
    checkpoint.keep()
    on_host("one", tmp_path, monkeypatch)
    assert (last_planned(checkpoint), last_done(checkpoint)) == (3, 2), "its own folder counts no more"


def test_the_same_host_goes_on_with_its_folder(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = Checkpoint(home, "app", "join")
    spark_writes(checkpoint.store, "offsets/0")
    checkpoint.keep()
    spark_writes(checkpoint.store, "commits/0", "offsets/1")
    on_host("one", tmp_path, monkeypatch)
    assert (last_planned(checkpoint), last_done(checkpoint)) == (1, 0)


def test_what_spark_deletes_goes_from_the_copy(home: str) -> None:
    checkpoint = Checkpoint(home, "app", "join")
    spark_writes(checkpoint.store, "offsets/0", "offsets/1")
    checkpoint.keep()
    checkpoint.store.delete(f"{FOLDER}/offsets/0")
    checkpoint.keep()
    assert open_store(home).names(f"{FOLDER}/offsets") == ["1"]


def test_a_home_that_spark_can_write_to_has_no_copy(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    checkpoint = Checkpoint(home, "app", "join")
    assert checkpoint.store is open_store(home)
    assert checkpoint.uri == f"{home}/{FOLDER}"
