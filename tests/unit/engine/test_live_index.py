"""Law: a live index is used only at the version it says it has, whatever a worker has mapped before."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dovetail.engine import index_folders, live_index
from dovetail.engine.copying import at_once
from dovetail.engine.live_index import LiveIndex
from dovetail.engine.store import StateStore
from dovetail.joins.buffer import Held
from dovetail.joins.streams import Times
from dovetail.kernels.ring import tag_of
from dovetail.log import document
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.offset import JoinOffset
from unit.engine.stepping import Driven

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
        claimed(tmp_path / "index", tmp_path / name, "apps/app/state/join")
    (tmp_path / "gone").rmdir()
    index_folders.sweep(tmp_path / "index", str(tmp_path / "another"))
    assert left_in(tmp_path / "index") == {f"{tmp_path / 'kept'} apps/app/state/join"}


def claimed(root: Path, home: Path, state_path: str) -> Path:
    """A worker makes an index of a join."""
    group = index_folders.group_directory(root, str(home), state_path, 0, 1)
    assert index_folders.claim_directory(group, str(home), state_path)
    saved(group, "v", [1])
    return group


def left_in(root: Path) -> set[str]:
    """The homes and joins that have sound indexes."""
    found = set()
    for owner in root.glob("*/home"):
        assert attached_rows(owner.parent / "0-of-1", "v") == [1]
        found.add(f"{owner.read_text()} {(owner.parent / 'state').read_text()}")
    return found


def test_indexes_of_joins_that_are_gone_are_swept(tmp_path: Path) -> None:
    """The application was deleted, or its query has lost the join."""
    root, home, another = tmp_path / "index", tmp_path / "home", tmp_path / "another"
    for state in ("apps/kept/state/join", "apps/kept/state/left", "apps/deleted/state/join"):
        (home / state).mkdir(parents=True)
        claimed(root, home, state)
    another.mkdir()
    claimed(root, another, "apps/unknown/state/join")
    shutil.rmtree(home / "apps/deleted")
    (home / "apps/kept/state/left").rmdir()
    index_folders.sweep(root, str(home))
    assert left_in(root) == {f"{home} apps/kept/state/join", f"{another} apps/unknown/state/join"}


def test_a_join_that_is_new_on_a_host_makes_room(tmp_path: Path) -> None:
    """A query has changed while it ran: nothing starts that would sweep."""
    before = Driven.make(tmp_path, SPEC)
    before.append("left", ("a", 1))
    with at_once():  # no thread writes into the folder while it is removed
        before.step()
    states = {path.read_text() for path in (tmp_path / "index").glob("*/state")}
    assert states == {before.config.state_path}
    shutil.rmtree(tmp_path / "home" / before.config.state_path)
    after = Driven(replace(before.config, join="other"))
    after.step()
    states = {path.read_text() for path in (tmp_path / "index").glob("*/state")}
    assert states == {after.config.state_path}


def test_a_join_keeps_its_own_place_though_the_home_has_nothing_of_it_yet(tmp_path: Path) -> None:
    """Nobody has recorded a step: whoever makes room for the index would take it for that of a join that is
    gone, also while another task writes there."""
    config = Driven.make(tmp_path, SPEC).config
    shutil.rmtree(tmp_path / "home" / config.state_path, ignore_errors=True)
    StateStore(config, config.share(0, JoinOffset()))
    assert [path.read_text() for path in (tmp_path / "index").glob("*/state")] == [config.state_path]


def test_an_index_of_an_earlier_release_says_whose_it_is_when_it_is_used(tmp_path: Path) -> None:
    root, home, state = tmp_path / "index", tmp_path / "home", "apps/app/state/join"
    home.mkdir()
    group = claimed(root, home, state)
    (group.parent / "state").unlink()
    index_folders.sweep(root, str(home))
    assert attached_rows(group, "v") == [1], "nobody knows whether its join is gone"
    assert index_folders.claim_directory(group, str(home), state)
    index_folders.sweep(root, str(home))
    assert not group.exists()


def test_a_worker_that_gets_a_new_ring_lets_go_of_those_that_are_gone(tmp_path: Path) -> None:
    """Of joins that will never run here again, and would hold their memory until the process ends."""
    for join in ("gone", "kept"):
        (tmp_path / join).mkdir()
        saved(tmp_path / join / "0-of-1", "v", [1])
    shutil.rmtree(tmp_path / "gone")
    (tmp_path / "new").mkdir()
    saved(tmp_path / "new" / "0-of-1", "v", [1])
    mapped = {Path(name).parts[-3] for name in live_index.MAPPED if name.startswith(str(tmp_path))}
    assert mapped == {"kept", "new"}


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
        index_folders.claim_directory(tmp_path / "index" / name / "0-of-1", str(tmp_path / name), "app/join")
    read = Path.read_text

    def swept_meanwhile(path: Path) -> str:
        shutil.rmtree(path.parent)
        return read(path)

    monkeypatch.setattr(Path, "read_text", swept_meanwhile)
    index_folders.sweep(tmp_path / "index", str(tmp_path))
    assert list((tmp_path / "index").iterdir()) == []


@pytest.mark.parametrize("owner", [b"\xff\xfe", b"a\0b", b"/gone"])
def test_an_owner_that_cannot_be_read_is_swept(tmp_path: Path, owner: bytes) -> None:
    group = tmp_path / "index" / "x" / "0-of-1"
    index_folders.claim_directory(group, str(tmp_path), "apps/app/state/join")
    (group.parent / "home").write_bytes(owner)
    index_folders.sweep(tmp_path / "index", str(tmp_path))
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
