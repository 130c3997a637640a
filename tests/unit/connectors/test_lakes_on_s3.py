"""Delta and Iceberg tables on S3."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from dovetail_dev.s3_server import BUCKET, s3_server
from unit.connectors.places import DeltaPlace, IcebergPlace, Place, open_place, sorted_rows
from unit.connectors.test_sinks import SCHEMA, batch, written


def test_tables_on_s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s3_server(tmp_path) as server:
        for name, value in {**server.environment, "AWS_ALLOW_HTTP": "true"}.items():
            monkeypatch.setenv(name, value)
        delta, iceberg = DeltaPlace(tmp_path), IcebergPlace(tmp_path)
        delta.options["path"] = f"s3://{BUCKET}/delta"
        iceberg.options["warehouse"] = f"s3://{BUCKET}/lake"
        places: list[Place] = [delta, iceberg]
        for place in places:
            sink = open_place(place, partitioned_by=("day",))
            sink.check(SCHEMA)
            sink.prepare(SCHEMA)
            for number in (0, 1, 1):
                sink.commit(number, written(sink, batch(number)))
            assert sink.last() == 1
            assert sorted_rows(place.rows()) == sorted_rows(pa.concat_tables([batch(0), batch(1)]))
