"""A process that dies at any point of the step that changes a join, and is started again: no row lost, none
twice."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest

from dovetail.crash_points import VARIABLE
from dovetail.engine.live_index import unmap_all
from dovetail.service.torture import nursery, quick_join
from faults import changing_process

FILE = ("begun", "whole", "named")
PASSED = {
    "coordinator": ("begun", "planned", "done"),
    "query": FILE,
    "record": FILE,
    "other": FILE,  # the offset log and the sink
    "reader": FILE,
    "local_snapshot": ("whole", "named"),
    "snapshot": FILE,
    "index": ("deleted", "whole", "named"),
}
POINTS = [f"{kind}.{progress}" for kind, steps in PASSED.items() for progress in steps]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which a join has come half of its way."""
    home = tmp_path_factory.mktemp("prepared") / "home"
    home.mkdir()
    changing_process.prepare(home, seed=5)
    unmap_all()
    return home


def continued(prepared: Path, folder: Path, crashes: tuple[str | None, ...]) -> list:
    home = folder / "home"
    shutil.copytree(prepared, home)
    for crash in crashes:
        environment = {VARIABLE: crash} if crash else {}
        process = nursery.start(changing_process.run, (home,), environment, folder / "words.txt")
        process.join(300)
        died = process.exitcode == -signal.SIGKILL
        assert died if crash else process.exitcode == 0, (folder / "words.txt").read_text()
    return quick_join.put_out(home)


def test_killed_at_a_point_of_the_change(prepared: Path, tmp_path: Path) -> None:
    expected = Counter(continued(prepared, tmp_path / "undisturbed", (None,)))
    assert max(expected.values()) == 1, "the rows have numbers: none comes twice"
    for point in POINTS:
        found = Counter(continued(prepared, tmp_path / point, (f"{point}:1", None)))
        assert found == expected, point
        shutil.rmtree(tmp_path / point)
