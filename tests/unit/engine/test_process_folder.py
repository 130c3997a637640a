"""Folders of processes that are gone go; those of others stay."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.engine.process_folder import process_folder


def test_what_a_killed_process_has_left_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    left = tmp_path / f"some-{int(gone.stdout)}-abc"
    left.mkdir()
    (left / "file").write_text("x")
    others = [
        tmp_path / f"some-{os.getppid()}-abc",
        tmp_path / "some-other",
        tmp_path / f"else-{int(gone.stdout)}-x",
    ]
    for other in others:
        other.mkdir()
    made = process_folder("some-")
    assert not left.exists()
    assert all(other.exists() for other in (*others, made))
    assert made.name.startswith(f"some-{os.getpid()}-")
