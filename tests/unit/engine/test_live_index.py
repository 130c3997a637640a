"""Law: a live index is used only at the version it says it has, whatever a worker has mapped before."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from dovetail.engine import live_index
from dovetail.engine.live_index import LiveIndex
from dovetail.joins.buffer import Held
from dovetail.joins.streams import Times
from dovetail.kernels.ring import tag_of
from dovetail.log import document
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin

SPEC = IntervalSpec(60, 60, "inner")
TIMES = Times(0, 0)


def saved(directory: Path, version: str, rows: list[int]) -> None:
    """A worker makes an index that holds these left rows."""
    directory.mkdir()
    index = LiveIndex(directory, IntervalJoin(SPEC))
    state, sample, *_ = index.fresh(TIMES)
    numbers = np.array(rows, np.int64)
    state.left.insert(Held.fresh(tag_of(numbers * 7919), numbers, numbers, None))
    index.save(version, {}, sample)


def attached_rows(directory: Path, version: str) -> list[int]:
    found = LiveIndex(directory, IntervalJoin(SPEC)).attach(version, TIMES)
    assert found is not None
    return sorted(found.state.left.held().row.tolist())


def test_an_index_that_was_lost_and_made_anew_is_mapped_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker had mapped the files; the directory went, and another worker made the index again."""
    directory = tmp_path / "0-of-1"
    saved(directory, "before", [1, 2, 3])
    assert attached_rows(directory, "before") == [1, 2, 3]
    shutil.rmtree(directory)
    with monkeypatch.context() as another:
        another.setattr(live_index, "MAPPED", {})
        saved(directory, "after", [4, 5])
    assert attached_rows(directory, "after") == [4, 5]


def test_indexes_of_homes_that_are_gone_are_swept(tmp_path: Path) -> None:
    for name in ("kept", "gone"):
        (tmp_path / name).mkdir()
        live_index.claim_directory(tmp_path / "index" / name / "0-of-1", str(tmp_path / name))
        saved(tmp_path / "index" / name / "0-of-1", "v", [1])
    (tmp_path / "gone").rmdir()
    live_index.sweep(tmp_path / "index")
    assert attached_rows(tmp_path / "index" / "kept" / "0-of-1", "v") == [1]
    assert not (tmp_path / "index" / "gone").exists()


def ring_file(directory: Path, side: str = "left") -> Path:
    (path,) = directory.glob(f"{side}-*.ring")
    return path


def test_a_ring_that_was_changed_is_found_by_who_maps_it_anew(tmp_path: Path) -> None:
    directory = tmp_path / "0-of-1"
    saved(directory, "v", [1, 2, 3])
    path = ring_file(directory)
    live_index.unmap_all()
    data = bytearray(path.read_bytes())
    data[data.rindex((2 << 1).to_bytes(8, "little"))] ^= 1  # row 2 has matched
    path.write_bytes(bytes(data))
    assert LiveIndex(directory, IntervalJoin(SPEC)).attach("v", TIMES) is None
    assert not list(directory.glob("*.ring"))


@pytest.mark.parametrize("accident", ["cut", "swapped", "other ends"])
def test_a_ring_that_is_mapped_is_looked_at_before_it_is_touched(tmp_path: Path, accident: str) -> None:
    """A process that touches a mapped page beyond a file's end is killed."""
    directory = tmp_path / "0-of-1"
    saved(directory, "v", [1, 2, 3])
    path = ring_file(directory)
    if accident == "cut":
        os.truncate(path, 64)
    elif accident == "swapped":
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(bytes(len(data)))
    else:
        with path.open("r+b") as file:
            file.write((1024).to_bytes(8, "little"))  # another tail
    assert LiveIndex(directory, IntervalJoin(SPEC)).attach("v", TIMES) is None


@pytest.mark.parametrize("body", [{}, {"rings": 3}, {"totals": "x"}, {"halvings": 99}, {"generation": None}])
def test_a_header_that_makes_no_sense_means_rebuild(tmp_path: Path, body: dict[str, object]) -> None:
    directory = tmp_path / "0-of-1"
    saved(directory, "v", [1])
    path = directory / "header.json"
    whole = json.loads(path.read_bytes())
    changed = {**whole["body"], **body} if body else {}
    path.write_bytes(document.encode(whole["format"], whole["version"], changed))
    assert LiveIndex(directory, IntervalJoin(SPEC)).attach("v", TIMES) is None


def test_a_header_that_leads_out_of_the_directory_means_rebuild(tmp_path: Path) -> None:
    directory = tmp_path / "0-of-1"
    saved(directory, "v", [1])
    path, ring = directory / "header.json", ring_file(directory)
    (tmp_path / ring.name).write_bytes(ring.read_bytes())
    whole = json.loads(path.read_bytes())
    whole["body"]["rings"]["left"][0] = f"../{ring.name}"
    path.write_bytes(document.encode(whole["format"], whole["version"], whole["body"]))
    assert LiveIndex(directory, IntervalJoin(SPEC)).attach("v", TIMES) is None
    assert (tmp_path / ring.name).exists()


def test_two_runs_that_begin_at_once_sweep_the_same_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one removes what this one has just found."""
    for name in ("gone", "gone too"):
        live_index.claim_directory(tmp_path / "index" / name / "0-of-1", str(tmp_path / name))
    read = Path.read_text

    def swept_meanwhile(path: Path) -> str:
        shutil.rmtree(path.parent)
        return read(path)

    monkeypatch.setattr(Path, "read_text", swept_meanwhile)
    live_index.sweep(tmp_path / "index")
    assert list((tmp_path / "index").iterdir()) == []


@pytest.mark.parametrize("owner", [b"\xff\xfe", b"a\0b", b"/gone"])
def test_an_owner_that_cannot_be_read_is_swept(tmp_path: Path, owner: bytes) -> None:
    group = tmp_path / "index" / "x" / "0-of-1"
    live_index.claim_directory(group, str(tmp_path))
    (group.parent / "home").write_bytes(owner)
    live_index.sweep(tmp_path / "index")
    assert not group.parent.exists()


def test_indexes_of_groups_that_have_moved_away_go(tmp_path: Path) -> None:
    """Those that a step begins from, or has just brought to its end, stay."""
    for task, version in enumerate(["start", "end", "older"]):
        saved(tmp_path / f"{task}-of-4", version, [task])
    assert live_index.groups_at(tmp_path, 4, "start") == [0]
    live_index.drop_others(tmp_path, 4, ("start", "end"))
    live_index.unmap_removed(tmp_path)
    left = {task: sorted(file.suffix for file in (tmp_path / f"{task}-of-4").iterdir()) for task in range(3)}
    assert left[0] == left[1] != left[2] == [""], "only the lock"
    assert {Path(name).parent.name for name in live_index.MAPPED if name.startswith(str(tmp_path))} == {
        "0-of-4",
        "1-of-4",
    }
    assert attached_rows(tmp_path / "0-of-4", "start") == [0]
    assert attached_rows(tmp_path / "1-of-4", "end") == [1]


def test_an_index_in_use_stays(tmp_path: Path) -> None:
    saved(tmp_path / "0-of-1", "older", [1])
    with LiveIndex(tmp_path / "0-of-1", IntervalJoin(SPEC)).exclusively():
        live_index.drop_others(tmp_path, 1, ("start", "end"))
    assert attached_rows(tmp_path / "0-of-1", "older") == [1]
