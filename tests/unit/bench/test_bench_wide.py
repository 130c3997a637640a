"""What the benchmark of wide rows reports."""

from __future__ import annotations

from bench import wide


def test_wide_rows_are_measured_both_ways() -> None:
    found = wide.measure(3000)
    assert found["plain"]["ratio"] == 1
    assert found["ratio"] > 2
    assert found["compressed"]["bytes_per_row"] < found["plain"]["bytes_per_row"] / 2
    assert [line.split()[0] for line in wide.lines(found)][-1] == "ratio"
