"""Law: what is run from the shipped zip is the code that was packed, from a folder, whatever is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import dovetail
from dovetail.engine import shipped_code
from dovetail.engine.shipped_code import digest, packed, unpacked

PACKAGE = Path(dovetail.__file__).parent
LEAVE = "import dovetail, dovetail.engine.shipped_code as s; s.leave_zip(); print(dovetail.__file__)"


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    return packed(tmp_path)


def left_for(shipped: Path, *path: Path, temporary: Path) -> Path:
    """Where a process ends up that begins in the zip, as Spark's daemon does."""
    temporary.mkdir(exist_ok=True)
    search = os.pathsep.join([shipped.name, *map(str, path)])
    done = subprocess.run(
        [sys.executable, "-c", LEAVE],
        cwd=shipped.parent,
        env={**os.environ, "PYTHONPATH": search, "TMPDIR": str(temporary), "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.strip()).parent


def test_the_name_tells_the_content(shipped: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(PACKAGE, tmp_path / "copy"))
    assert digest(copy) == digest(PACKAGE)
    assert digest(copy) in shipped.name
    (copy / "errors.py").write_text("")
    assert digest(copy) != digest(PACKAGE)


def test_installed_code_is_used_only_if_it_is_the_same(shipped: Path, tmp_path: Path) -> None:
    for name in ("same", "other"):
        shutil.copytree(PACKAGE, tmp_path / name / "dovetail")
    (tmp_path / "other/dovetail/joins/interval.py").write_text("")
    temporary = tmp_path / "tmp"
    other, same = tmp_path / "other", tmp_path / "same"
    assert left_for(shipped, other, same, temporary=temporary) == same / "dovetail"
    assert not any(temporary.iterdir())


def test_otherwise_it_is_unpacked_once_for_all(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Path] = []
    monkeypatch.setattr(shipped_code, "compile_kernels", compiled.append)
    wanted = digest(PACKAGE)
    threads = [threading.Thread(target=unpacked, args=(shipped, wanted, tmp_path)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folder = unpacked(shipped, wanted, tmp_path)
    assert digest(folder / "dovetail") == wanted
    assert len(compiled) == 1
    assert [path.name for path in tmp_path.glob("*code-*") if path.is_dir()] == [folder.name]


def test_a_process_that_does_not_begin_in_the_zip_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("begun again"))
    shipped_code.leave_zip()
