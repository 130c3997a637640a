"""Records of steps read back as they were written, in any order of crashes; what is damaged says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.engine import step_log
from dovetail.engine.step_log import StepLog, read_records
from dovetail.errors import CorruptFile, UnknownVersion
from dovetail.log import document
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import JoinConfig
from dovetail.model.step_record import CommitTaken, SideRecord, StepRecord
from unit.engine.workload import config as make_config

SIDE = SideRecord(3, 4, 1000, 10, 2, 20, 500, True, False, (CommitTaken(3, 1007, 1000, 7, 2, (1, 2), 0.5),))


@pytest.fixture
def config(tmp_path: Path) -> JoinConfig:
    return make_config(tmp_path / "home", tmp_path / "index", IntervalSpec(1, 1, "left"), 4, 10)


def steps(config: JoinConfig) -> StepLog:
    return StepLog(config.home, config.state_path)


def record(step: int, at_us: int = 0) -> StepRecord:
    return StepRecord(step, at_us, 0, False, SIDE, SIDE, 2)


def chunk(config: JoinConfig, first: int) -> Path:
    return Path(config.home) / config.state_path / "steps" / f"{first:012d}.json"


def test_records_read_back(config: JoinConfig) -> None:
    assert read_records(config) == []
    log = steps(config)
    for step in range(1, 6):
        log.write(record(step))
    assert read_records(config) == [record(step) for step in range(1, 6)]
    assert read_records(config, since_step=4) == [record(4), record(5)]


def test_chunks_fill_and_old_ones_go(config: JoinConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_log, "CHUNK_STEPS", 3)
    monkeypatch.setattr(step_log, "KEPT_CHUNKS", 2)
    log = steps(config)
    for step in range(1, 12):
        log.write(record(step))
    assert sorted(path.name for path in chunk(config, 0).parent.glob("*.json")) == [
        "000000000007.json",
        "000000000010.json",
    ]
    assert [found.step for found in read_records(config)] == [7, 8, 9, 10, 11]
    assert [found.step for found in read_records(config, since_step=10)] == [10, 11]


def test_a_chunk_is_full_at_so_many_commits_too(config: JoinConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_log, "CHUNK_COMMITS", 4)
    log = steps(config)
    for step in range(1, 4):
        log.write(record(step))  # two commits each
    assert chunk(config, 3).exists()
    assert not chunk(config, 2).exists()


@pytest.mark.parametrize("again", [1, 3, 4, 5, 7])
def test_a_step_planned_again_takes_the_place_of_its_record(
    config: JoinConfig, monkeypatch: pytest.MonkeyPatch, again: int
) -> None:
    monkeypatch.setattr(step_log, "CHUNK_STEPS", 3)
    log = steps(config)
    for step in range(1, 8):
        log.write(record(step))
    for writer in (steps(config), log):  # after a restart, and in one process
        writer.write(record(again, at_us=9))
        assert read_records(config) == [*map(record, range(1, again)), record(again, at_us=9)]
    log.write(record(again + 1))
    assert read_records(config)[-1] == record(again + 1)


def test_a_new_writer_goes_on_in_the_chunk_that_is_there(config: JoinConfig) -> None:
    for step in range(1, 4):
        steps(config).write(record(step))
    assert [path.name for path in chunk(config, 0).parent.iterdir()] == ["000000000001.json"]


def test_a_damaged_chunk_stops_those_who_ask_and_not_the_join(config: JoinConfig) -> None:
    steps(config).write(record(1))
    path = chunk(config, 1)
    path.write_bytes(path.read_bytes().replace(b'"rows":10', b'"rows":11'))
    with pytest.raises(CorruptFile, match="corrupt") as raised:
        read_records(config)
    assert str(path) == raised.value.where
    assert "delete the file" in (raised.value.hint or "")
    steps(config).write(record(2))
    assert read_records(config, since_step=2) == [record(2)]


@pytest.mark.parametrize(
    "held",
    [
        [],
        "none",
        [{}],
        [record(2).to_json()],
        [record(1).to_json(), record(3).to_json()],
        [{**record(1).to_json(), "mood": 1}],
        [{**record(1).to_json(), "left": None}],
    ],
)
def test_a_chunk_of_something_else_is_refused(config: JoinConfig, held: object) -> None:
    path = chunk(config, 1)
    path.parent.mkdir(parents=True)
    path.write_bytes(document.encode(step_log.KIND, step_log.VERSION, {"steps": held}))
    with pytest.raises(CorruptFile, match="records of steps"):
        read_records(config)


def test_records_of_the_first_version_are_read_and_continued(config: JoinConfig) -> None:
    """They do not say how many rows were held back."""
    old = record(1).to_json()
    for side in ("left", "right"):
        for taken in old[side]["taken"]:
            del taken["held_back"]
    path = chunk(config, 1)
    path.parent.mkdir(parents=True)
    path.write_bytes(document.encode(step_log.KIND, 1, {"steps": [old]}))
    assert read_records(config) == [record(1)]
    steps(config).write(record(2))
    assert read_records(config) == [record(1), record(2)]


def test_a_chunk_of_the_future_names_the_remedy(config: JoinConfig) -> None:
    path = chunk(config, 1)
    path.parent.mkdir(parents=True)
    path.write_bytes(document.encode(step_log.KIND, 99, {"steps": [replace(record(1)).to_json()]}))
    with pytest.raises(UnknownVersion):
        read_records(config)
