"""Machine code on disk is of the sources as they are, also where a kernel calls one of another file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dovetail.kernels

SOURCES = Path(dovetail.kernels.__file__).parent
USE = "from dovetail.kernels.caller import twice; print(twice(3), sum(twice.stats.cache_hits.values()))"


def used(folder: Path) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.split()


def test_a_change_in_another_file_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "dovetail/kernels"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    shutil.copy(SOURCES / "flags.py", package)
    head = "from dovetail.kernels.flags import kernel\n"
    (package / "called.py").write_text(f"{head}@kernel\ndef one(x):\n    return x\n")
    (package / "caller.py").write_text(
        f"{head}from dovetail.kernels.called import one\n@kernel\ndef twice(x):\n    return 2 * one(x)\n"
    )
    assert used(tmp_path) == ["6", "0"]
    assert used(tmp_path) == ["6", "1"]
    (package / "called.py").write_text(f"{head}@kernel\ndef one(x):\n    return x + 1\n")
    assert used(tmp_path) == ["8", "0"]
