"""Law: a live index is used only at the version it says it has, whatever a worker has mapped before."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from dovetail.joins.buffer import Held
from dovetail.joins.interval import Times
from dovetail.kernels.ring import tag_of
from dovetail.model.interval import IntervalSpec
from dovetail.state import live_index
from dovetail.state.live_index import LiveIndex

SPEC = IntervalSpec(60, 60, "inner")
TIMES = Times(0, 0)


def saved(directory: Path, version: str, rows: list[int]) -> None:
    """A worker makes an index that holds these left rows."""
    directory.mkdir()
    index = LiveIndex(directory, SPEC)
    state, sample, _ = index.fresh(TIMES)
    numbers = np.array(rows, np.int64)
    state.left.insert(Held.fresh(tag_of(numbers * 7919), numbers, numbers, None))
    index.save(version, {}, sample)


def attached_rows(directory: Path, version: str) -> list[int]:
    found = LiveIndex(directory, SPEC).attach(version, TIMES)
    assert found is not None
    return sorted(found.state.left.held().row.tolist())


def test_an_index_that_was_lost_and_made_anew_is_mapped_anew(tmp_path: Path) -> None:
    """One worker had mapped the files; the directory went, and another worker made the index again."""
    directory = tmp_path / "0-of-1"
    saved(directory, "before", [1, 2, 3])
    assert attached_rows(directory, "before") == [1, 2, 3]
    mapped = dict(live_index._attached)
    shutil.rmtree(directory)
    saved(directory, "after", [4, 5])
    live_index._attached.clear()
    live_index._attached.update(mapped)
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
