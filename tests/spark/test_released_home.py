"""A home that an earlier build has left after runs on Spark, with Spark's own checkpoints, is continued by
this one: each row comes out once, and each window is aggregated once, as if one build had run it from the
beginning. `tests/homes/spark-*.tar.gz` were packed by those builds (`tests/homes/make_spark_home.py`):

    ec85ac3   versions of format 3
    833ee3d   versions of format 4
"""

from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path

import pytest

from dovetail.changes.versions import version_numbers
from dovetail.log.history import forget
from homes.make_spark_home import MINUTE_US, PARTS, SECOND, append, times
from spark.application import Application

HOMES = sorted((Path(__file__).parents[1] / "homes").glob("spark-*.tar.gz"))


@pytest.mark.parametrize("packed", HOMES, ids=lambda path: path.name.partition(".")[0])
def test_a_home_of_an_earlier_build_goes_on(application: Application, packed: Path) -> None:
    forget()
    with tarfile.open(packed) as archive:
        archive.extractall(application.folder, filter="data")
    before = application.category("rows").num_rows
    assert before > 0
    for side in ("l", "r"):
        append(application.home, side, PARTS - 1)
    application.run(SECOND, "drain")
    assert version_numbers(application.home, "app") == [1, 2]

    left, right = times("l"), times("r")
    wanted: Counter[tuple[int, int | None]] = Counter()
    minutes: dict[int, tuple[int, int]] = {}
    for one, time in enumerate(left):
        partners = [
            other
            for other, at in enumerate(right)
            if one % 4 == other % 4 and time - MINUTE_US <= at <= time + 2 * MINUTE_US
        ]
        found: list[int | None] = [*partners] or [None]
        wanted.update((one, other) for other in found)
        since = time // MINUTE_US * MINUTE_US
        n, matched = minutes.get(since, (0, 0))
        minutes[since] = n + len(found), matched + len(partners)
    rows = application.category("rows")
    assert rows.num_rows > before
    assert Counter(zip(rows["l"].to_pylist(), rows["r"].to_pylist(), strict=True)) == wanted
    counted = application.category("minutes").to_pylist()
    assert len(counted) == len(minutes), "each window once"
    assert {int(row["since"].timestamp() * 1e6): (row["n"], row["matched"]) for row in counted} == minutes
