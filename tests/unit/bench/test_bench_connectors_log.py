"""The rows of `bench connectors` for the log, and their figures."""

from __future__ import annotations

from pathlib import Path

from bench.connectors_log import (
    COMMIT_ROWS,
    LogFigures,
    fingerprint,
    in_order,
    log_table,
    made,
    read,
    written_and_read,
)


def test_what_is_read_back_is_what_was_written(tmp_path: Path) -> None:
    batches = made(COMMIT_ROWS + 1000, "narrow")
    assert [batch.num_rows for batch in batches] == [COMMIT_ROWS, 1000]
    assert written_and_read(str(tmp_path), batches) == fingerprint(batches)
    assert in_order(read(str(tmp_path))).equals(in_order(batches))
    assert fingerprint(batches[:1]) != fingerprint(batches)
    assert fingerprint(made(1000, "wide", seed=1)) != fingerprint(made(1000, "wide", seed=2))


def test_ratios_are_those_of_rates() -> None:
    clock_s, cpu_s = {"kafka": [4.0, 2.0, 3.0], "disk": [1.5]}, {"kafka": [1.0], "disk": [0.75]}
    found = LogFigures("wide", 1000, 84_000, clock_s, cpu_s)
    assert (found.ratio, found.cpu_ratio) == (0.5, 0.75)
    assert found.to_json()["ratio"] == 0.5
    assert log_table(found).row_count == 3
