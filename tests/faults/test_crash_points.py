"""A process that dies at any point of any file operation, and is started again: no row lost, none twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from faults.worker import AFTER, BEFORE, inputs, put_out
from oracle import batch_join

TESTS = Path(__file__).parents[1]
FILES = {
    "segment": ("begun", "whole", "named"),
    "commit": ("begun", "whole", "named"),
    "reader": ("whole", "named"),
    "first": ("whole", "named"),
    "snapshot": ("begun", "whole", "named", "deleted"),
    "record": ("whole", "named"),
    "index": ("whole", "named", "deleted"),
    "other": ("begun", "whole", "named"),  # the offset log and the sink
}
POINTS = [f"{kind}.{progress}" for kind, steps in FILES.items() for progress in steps]


def started(home: Path, seed: int, crash: str | None) -> int:
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}:{os.environ.get('PYTHONPATH', '')}"}
    environment.pop("DOVETAIL_CRASH", None)
    if crash:
        environment["DOVETAIL_CRASH"] = crash
    command = [sys.executable, "-m", "faults.worker", str(home), str(seed)]
    return subprocess.run(command, env=environment, cwd=TESTS.parent, check=False, timeout=300).returncode


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_point_and_started_again(tmp_path: Path, point: str) -> None:
    """Twice, early and later; then to the end."""
    seed = POINTS.index(point)
    kills = 0
    for passing in (1 + seed % 2, 3 + seed % 5):
        code = started(tmp_path, seed, f"{point}:{passing}")
        assert code in (0, -signal.SIGKILL)
        kills += code != 0
    assert kills, f"nobody passes {point}"
    assert started(tmp_path, seed, None) == 0
    spec, left, right = inputs(seed)
    expected = batch_join(left, right, BEFORE, AFTER, spec.how, spec.match, spec.pick)
    assert Counter(put_out(tmp_path)) == Counter(expected)
