"""Files that go between the listing and the reading are counted, whatever their format."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dovetail.errors import RunError
from dovetail.service.metrics import measured
from dovetail.service.prometheus import to_prometheus
from spark.application import Application
from spark.events import START_US
from spark.test_formats import text_lines, write_lines

PQL = """
    CREATE APPLICATION vanishing;
    CREATE INPUT TABLE j (eventtime TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{here}/j", format = "json");
    CREATE INPUT TABLE c (eventtime TIMESTAMP, k BIGINT, id BIGINT) FROM FILES("{here}/c", format = "csv");
    CREATE INPUT TABLE p (eventtime, k, id) FROM FILES("{here}/p", format = "parquet");
    CREATE VIEW texts AS SELECT eventtime, k, 10 / id AS id FROM j
        UNION ALL SELECT eventtime, k, 10 / id AS id FROM c;
    CREATE VIEW rows AS SELECT eventtime, k, 10 / id AS id FROM p;
    CREATE VIEW pairs AS SELECT texts.id AS l, rows.id AS r FROM texts JOIN rows ON texts.k = rows.k
        AND rows.eventtime BETWEEN texts.eventtime - INTERVAL '1 minute'
        AND texts.eventtime + INTERVAL '1 minute';
    CREATE TABLE joined AS SELECT * FROM pairs STORAGE SCRIBE(category = "joined");
"""


def rows(divisor: int) -> pa.Table:
    """One row, which cannot be read if it divides by zero."""
    time = pa.array([START_US], pa.timestamp("us", "UTC"))
    return pa.table({"eventtime": time, "k": [1], "id": [divisor]})


def put(folder: Path, name: str, divisor: int) -> None:
    for form, ending in (("json", "j"), ("csv", "c")):
        write_lines(folder / ending / f"{name}.{form}", text_lines(rows(divisor), form))
    (folder / "p").mkdir(exist_ok=True)
    pq.write_table(rows(divisor), folder / "p" / f"{name}.parquet")


def both_sides_are_planned(application: Application) -> bool:
    checkpoints = Path(application.home, "apps", "vanishing", "checkpoints")
    return all((checkpoints / f"pairs.{side}" / "offsets" / "0").exists() for side in ("left", "right"))


def test_files_that_are_removed_after_they_were_listed(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch fails at a row of one file of each input. Spark has planned it by then, with these files. A
    thread of the run plans nothing: of what it has not read, nobody has heard after a restart."""
    monkeypatch.setenv("DOVETAIL_SLICING", "spark")
    put(application.folder, "good", 1)
    put(application.folder, "bad", 0)
    while not both_sides_are_planned(application):  # the side that fails first may end the run before that
        with pytest.raises(RunError, match=r"(?i)division by zero"):
            application.run(PQL)
    for file in application.folder.glob("?/bad.*"):
        file.unlink()
    summary = application.run(PQL)
    assert application.category("joined").num_rows == 2
    assert summary.joins[0].vanished_files == 3
    for table, name in (("j", "bad.json"), ("c", "bad.csv"), ("p", "bad.parquet")):
        found = application.category(f"vanishing.vanished.{table}")["file"].to_pylist()
        assert found == [str(application.folder / table / name)]
    found = measured(application.home, "vanishing")
    assert found.vanished == {"j": 1, "c": 1, "p": 1}
    series = b'dovetail_input_vanished_files_total{application="vanishing",table="j"} 1.0'
    assert series in to_prometheus(found)
