"""The wheel, built as a release is: its name and version, and that it holds the product only."""

from __future__ import annotations

import os
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from hatchling.build import build_wheel

import dovetail
from dovetail.service.checkout import checkout_root


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    before = Path.cwd()
    os.chdir(checkout_root())  # the build backend works on the current directory
    try:
        return zipfile.ZipFile(folder / build_wheel(str(folder)))
    finally:
        os.chdir(before)


def test_it_has_the_product_and_nothing_for_developers(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    folders = {name.split("/")[0] for name in names}
    assert folders == {"dovetail", f"dovetail_joins-{dovetail.__version__}.dist-info"}
    source = checkout_root() / "src"
    modules = {str(path.relative_to(source)) for path in (source / "dovetail").rglob("*.py")}
    assert modules <= set(names)
    assert [name for name in names if "test_command" in name or "bench" in name] == []


def test_its_name_version_and_command(wheel: zipfile.ZipFile) -> None:
    (place,) = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    about = Parser().parsestr(wheel.read(place).decode())
    assert about["Name"] == "dovetail-joins"
    assert about["Version"] == dovetail.__version__
    scripts = wheel.read(place.replace("METADATA", "entry_points.txt")).decode()
    assert "dovetail = dovetail.service.cli.main:main" in scripts


def test_a_wheel_on_its_own_offers_no_commands_for_developers(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    import subprocess
    import sys

    wheel.extractall(tmp_path)
    code = "from dovetail.service.cli.main import COMMANDS; print(*COMMANDS)"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    offered = shown.stdout.split()
    assert "run" in offered
    assert not {"test", "bench"} & set(offered)
