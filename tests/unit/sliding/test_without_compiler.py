"""The kernels of sliding-window joins as plain Python, where an index out of range is an error: small
streams, stepped in random order, against the oracle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2]


def test_small_joins_without_the_compiler() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "unit.sliding.without_compiler"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right") == 12, done.stdout
