"""How often a stage writes, as its query says."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.pql.compile import compile_pql
from dovetail.spark.building import BuiltStage
from dovetail.spark.starting import POLL, pace


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ('PARQUET (path = "o")', POLL),
        ("PARQUET (path = \"o\", every = INTERVAL '2 minutes') PARTITIONED BY (k)", "120000 milliseconds"),
        ("JSON (path = \"o\", every = INTERVAL '1 second')", "1000 milliseconds"),
        ("CSV (path = \"o\", every = INTERVAL '1 second', header = false)", "1000 milliseconds"),
        ("DELTA (path = \"o\", every = INTERVAL '1 second')", "1000 milliseconds"),
        ("NOOP", POLL),
    ],
)
def test_pace(storage: str, said: str) -> None:
    (stage,) = compile_pql(
        f"""CREATE APPLICATION app; CREATE INPUT TABLE a (k INT, x INT) FROM FILES("a", format = "json");
        CREATE TABLE o AS SELECT k, x FROM a STORAGE {storage};"""
    ).stages
    rows: Any = None
    assert pace(BuiltStage(stage.name, rows, stage.output, (), stage)) == said
