"""Which files of a micro-batch belong to which input table."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.plan.physical import FilesSource, InputTable
from dovetail.spark.append import files_by_table


def table(name: str, path: str) -> InputTable:
    return InputTable(name, (), FilesSource(path, "json", ()))


def test_by_the_path_that_a_table_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tables = [table("a", "in/a"), table("ab", f"{tmp_path}/in/../in/ab/"), table("one", "in/one file.json")]
    tables += [table("far", "s3://bucket/in/b"), table("farther", "s3a://bucket/in/b c?region=eu")]
    files = {
        "a": [f"file://{tmp_path}/in/a/1.json", f"file://{tmp_path}/in/a/deep/2.json", "/elsewhere/3.json"],
        "ab": [f"file://{tmp_path}/in/ab/1.json"],
        "one": [f"file://{tmp_path}/in/one%20file.json"],
        "far": ["s3a://bucket/in/b/1.json"],
        "farther": ["s3a://bucket/in/b%20c/1.json"],
    }
    given = [*files["one"], *files["a"], *files["ab"], *files["farther"], *files["far"]]
    assert files_by_table(tables, given) == files
