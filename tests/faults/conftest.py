"""Homes in memory where there is room: a process that dies loses nothing it has written, and syncing to disk
would be most of the time."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.service.torture.suite import default_folder


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    folder = default_folder()
    yield folder
    shutil.rmtree(folder)
