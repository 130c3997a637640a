"""Notes of a run are for runs of the same plan in the same circumstances, and for nobody else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.errors import CorruptFile
from dovetail.pql.compile import compile_pql
from dovetail.spark.head_start_notes import Circumstances, Notes, find_notes, forget, read_notes, write_notes
from spark.pairs import pairs

PLAN, OTHER = compile_pql(pairs("INNER")), compile_pql(pairs("LEFT"))
HERE = Circumstances("local[2]", {}, None)
NOTES = Notes((), ())


@pytest.fixture(autouse=True)
def _host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_notes_are_found_by_a_run_of_the_same_plan() -> None:
    write_notes("home", PLAN, HERE, NOTES)
    path = find_notes("home", PLAN, HERE)
    assert path is not None
    assert read_notes(path) == NOTES
    forget("home", PLAN.application)
    assert find_notes("home", PLAN, HERE) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(HERE, master="local[4]"),
        replace(HERE, settings={"spark.sql.ansi.enabled": "false"}),
        replace(HERE, index_dir="/elsewhere"),
    ],
)
def test_other_circumstances_have_no_notes(other: Circumstances, monkeypatch: pytest.MonkeyPatch) -> None:
    write_notes("home", PLAN, HERE, NOTES)
    assert find_notes("home", PLAN, other) is None
    assert find_notes("home", OTHER, HERE) is None
    assert find_notes("other home", PLAN, HERE) is None
    monkeypatch.setenv("DOVETAIL_SLICING", "spark")
    assert find_notes("home", PLAN, HERE) is None


def test_damaged_notes_are_not_unpickled() -> None:
    write_notes("home", PLAN, HERE, NOTES)
    path = find_notes("home", PLAN, HERE)
    assert path is not None
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(CorruptFile):
        read_notes(path)
