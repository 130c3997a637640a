"""Keys of every type, alone and together, plain and computed, of unlike types on the two sides, and null.

A side that only picks columns of Parquet files takes a shorter way into the log than one that computes: here
both ways meet.
"""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa

from spark.application import Application
from spark.batch import count, database, differences
from spark.events import START_US, write_files

ROWS, KEYS = 4000, 40
EPOCH = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
DOUBLES = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1.5, -1.5, 1e-320]


def side(seed: int, *, wide: bool) -> pa.Table:
    """Columns derived from a number below KEYS; the wide side has the wider types."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, KEYS, ROWS).tolist()

    def column(value, kind: pa.DataType) -> pa.Array:
        return pa.array([None if rng.random() < 0.02 else value(u) for u in numbers], kind)

    def struct(u: int) -> dict[str, object]:
        return {"a": u % 7, "b": None if u % 5 == 0 else f"b{u}", "c": DOUBLES[u % 8]}

    text = (lambda u: f"Key-{u}") if wide else (lambda u: f"key-{u}")
    places = 4 if wide else 2
    return pa.table(
        {
            "eventtime": pa.array(START_US + np.arange(ROWS) * 1_000_000, pa.timestamp("us", "UTC")),
            "id": np.arange(ROWS),
            "s": column(lambda u: f"ключ {u}", pa.string()),
            "mixed": column(text, pa.string()),
            "i": column(lambda u: u - 20, pa.int64() if wide else pa.int32()),
            "tiny": column(lambda u: u - 20, pa.int16() if wide else pa.int8()),
            "m": column(lambda u: decimal.Decimal(u).scaleb(-2), pa.decimal128(8 + places, places)),
            "huge": column(lambda u: decimal.Decimal(10**30 + u), pa.decimal128(38, 0)),
            "d": column(lambda u: EPOCH.date() + datetime.timedelta(days=u), pa.date32()),
            "ts": column(lambda u: EPOCH + datetime.timedelta(microseconds=u), pa.timestamp("us", "UTC")),
            "flag": column(lambda u: u % 2 == 0, pa.bool_()),
            "f": column(lambda u: DOUBLES[u % 8], pa.float64()),
            "narrow": column(lambda u: u / 4, pa.float64() if wide else pa.float32()),
            "raw": column(lambda u: bytes([0, u, 255]) * (u % 3), pa.binary()),
            "st": column(struct, pa.struct({"a": pa.int32(), "b": pa.string(), "c": pa.float64()})),
        }
    )


ON = {
    "string": "l.s = r.s",
    "integers": "l.i = r.i",
    "decimals": "l.m = r.m",
    "doubles": "l.f = r.f",
    "bytes": "l.raw = r.raw",
    "struct": "l.st = r.st",
    "computed": "lower(r.mixed) = l.mixed AND l.i + 1 = r.i + 1",
    "several": "l.flag = r.flag AND l.d = r.d AND l.ts = r.ts AND l.tiny = r.tiny AND l.huge = r.huge "
    "AND l.narrow = r.narrow AND l.s = r.s",
}


def test_keys_of_every_type(application: Application) -> None:
    left, right = side(1, wide=False), side(2, wide=True)
    write_files(left, application.folder / "l", 2)
    write_files(right, application.folder / "r", 2)
    columns = ", ".join(left.schema.names)
    pql = f"""
        CREATE APPLICATION all_keys;
        CREATE INPUT TABLE l ({columns}) FROM FILES("{{here}}/l", format = "parquet");
        CREATE INPUT TABLE r ({columns}) FROM FILES("{{here}}/r", format = "parquet");
        CREATE VIEW computed_r AS SELECT * FROM r WHERE id >= 0;
    """
    for n, (name, on) in enumerate(ON.items()):
        pql += f"""
        CREATE VIEW {name}_join AS SELECT l.id AS l, r.id AS r
            FROM l FULL JOIN {"computed_r AS r" if n % 2 else "r"} ON {on} AND
            r.eventtime BETWEEN l.eventtime - INTERVAL '5 minutes' AND l.eventtime + INTERVAL '5 minutes';
        CREATE TABLE {name}_rows AS SELECT * FROM {name}_join STORAGE SCRIBE(category = "{name}");
        """
    application.run(pql)
    db = database(l=left, r=right)
    for name, on in ON.items():
        bounds = "l.eventtime - INTERVAL 5 MINUTE AND l.eventtime + INTERVAL 5 MINUTE"
        expected = f"SELECT l.id, r.id FROM l FULL JOIN r ON {on} AND r.eventtime BETWEEN {bounds}"
        assert count(db, f"SELECT * FROM ({expected}) t(l, r) WHERE l + r >= 0") > ROWS, name
        db.register("found", application.category(name))
        assert differences(db, "FROM found", expected) == {}, name
