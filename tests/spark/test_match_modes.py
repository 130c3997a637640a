"""Every way to choose one partner, end to end, each with one join type (two with
`HYPOTHESIS_PROFILE=thorough`). The laws try every way with every type, without Spark.

For `first` the partner depends on the arrival: a left row that has partners gets exactly one of them.
"""

from __future__ import annotations

import pytest

from laws.effort import THOROUGH
from spark.application import Application
from spark.batch import count, database, differences
from spark.events import events, write_files

ROWS = 6000
MODES = [("inner", "first"), ("full", "nearest"), ("right", "earliest"), ("left", "latest")]
if THOROUGH:
    MODES += [("full", "first"), ("left", "nearest"), ("inner", "earliest"), ("right", "latest")]
PICKS = {
    "first": "r.id",
    "nearest": "abs(epoch_us(r.eventtime) - epoch_us(l.eventtime)), r.eventtime, r.id",
    "earliest": "r.eventtime, r.id",
    "latest": "r.eventtime DESC, r.id",
}
PARTNERS = """
    SELECT l.id AS l, r.id AS r, row_number() OVER (PARTITION BY l.id ORDER BY {order}) AS place
    FROM l JOIN r ON l.k = r.k
     AND r.eventtime BETWEEN l.eventtime - INTERVAL 90 SECOND AND l.eventtime + INTERVAL 4 MINUTE
"""


@pytest.fixture
def joined(application: Application) -> Application:
    """All joins in one run; the inputs come in three commits a side."""
    for side, seed in (("l", 11), ("r", 12)):
        write_files(events(ROWS, 500, seed), application.folder / side, 3)
    source = 'format = "parquet", maxFilesPerTrigger = 1'
    pql = f"""
        CREATE APPLICATION match_modes;
        CREATE INPUT TABLE l (eventtime, k, id) FROM FILES("{{here}}/l", {source});
        CREATE INPUT TABLE r (eventtime, k, id) FROM FILES("{{here}}/r", {source});
    """
    for how, pick in MODES:
        name = f"{how}_{pick}"
        pql += f"""
        CREATE VIEW {name} AS SELECT l.id AS l, r.id AS r FROM l {how.upper()} JOIN r ON l.k = r.k AND
            r.eventtime BETWEEN l.eventtime - INTERVAL '90 seconds' AND l.eventtime + INTERVAL '4 minutes'
            WITH (match = "one", pick = "{pick}", buckets = 4, max_step_rows = 2500);
        CREATE TABLE t_{name} AS SELECT * FROM {name} STORAGE SCRIBE(category = "{name}");
        """
    application.run(pql)
    return application


def test_one_partner_end_to_end(joined: Application) -> None:
    db = database(l=events(ROWS, 500, 11), r=events(ROWS, 500, 12))
    for pick, order in PICKS.items():
        db.execute(f"CREATE TABLE {pick}_partners AS {PARTNERS.format(order=order)}")
        assert count(db, f"FROM {pick}_partners WHERE place = 2") > ROWS / 10
    for how, pick in MODES:
        name = f"{how}_{pick}"
        db.register("found", joined.category(name))
        db.execute(f"CREATE TABLE {name} AS FROM found")
        pairs = f"SELECT l, r FROM {name} WHERE l IS NOT NULL AND r IS NOT NULL"
        if pick == "first":
            partners = "SELECT l, r FROM first_partners"
            assert count(db, f"({pairs}) EXCEPT ({partners})") == 0, name
            assert differences(db, f"SELECT l FROM ({pairs})", "SELECT DISTINCT l FROM first_partners") == {}
        else:
            picked = f"SELECT l, r FROM {pick}_partners WHERE place = 1"
            assert differences(db, pairs, picked) == {}, name
        lone_left = f"SELECT l FROM {name} WHERE r IS NULL"
        lone_right = f"SELECT r FROM {name} WHERE l IS NULL"
        nobody = "SELECT 1 WHERE false"
        left_alone = f"SELECT id FROM l ANTI JOIN ({pairs}) p ON l.id = p.l"
        right_alone = f"SELECT id FROM r ANTI JOIN ({pairs}) p ON r.id = p.r"
        assert differences(db, lone_left, left_alone if how in ("left", "full") else nobody) == {}, name
        assert differences(db, lone_right, right_alone if how in ("right", "full") else nobody) == {}, name
