"""Which archive of Spark's classes a JVM is given: a whole one for this Java, or none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dovetail.spark.class_archive import WRITING, archive_place, find_archive, java_options, keep_archive


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    found = archive_place()
    assert found is not None
    found.parent.mkdir()
    return found


def test_nothing_is_asked_of_java_without_an_archive(place: Path) -> None:
    assert java_options() == ()


def test_an_archive_that_is_whole_is_used_and_one_cut_short_is_not(place: Path) -> None:
    draft = place.parent / "draft"
    draft.write_bytes(b"x" * 100)
    archive = keep_archive(draft, place)
    assert find_archive() == archive
    assert f"-XX:SharedArchiveFile={archive}" in java_options()
    archive.write_bytes(b"x" * 99)
    assert find_archive() is None
    assert java_options() == ()


def test_another_java_has_another_archive(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "other"))
    assert archive_place() != place


def test_a_process_can_be_asked_to_write_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WRITING, "/somewhere/draft")
    assert "-XX:ArchiveClassesAtExit=/somewhere/draft" in java_options()


def test_a_path_that_java_would_take_apart_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/a folder")
    assert archive_place() is None
