"""Law: a key has one hash, whether Spark computes it or a task does."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from dovetail.joins.rows.key_hash import hash_keys, hashable

ROWS = 500


def columns() -> dict[str, pa.Array]:
    rng, letters = np.random.default_rng(5), random.Random(5)
    doubles = np.where(rng.random(ROWS) < 0.1, -0.0, rng.normal(size=ROWS))
    doubles[rng.random(ROWS) < 0.1] = np.nan
    texts = ["".join(letters.choices("aé漢xyz", k=letters.randrange(70))) for _ in range(ROWS)]
    return {
        "short": pa.array(rng.integers(-(2**15), 2**15, ROWS), pa.int16()),
        "int": pa.array(rng.integers(-(2**31), 2**31, ROWS), pa.int32()),
        "long": pa.array(rng.integers(-(2**62), 2**62, ROWS)),
        "float": pa.array(doubles, pa.float32()),
        "double": pa.array(doubles),
        "boolean": pa.array(rng.random(ROWS) < 0.5),
        "date": pa.array(rng.integers(-20_000, 20_000, ROWS), pa.int32()).cast(pa.date32()),
        "timestamp": pa.array(rng.integers(-(10**15), 10**15, ROWS), pa.timestamp("us", "UTC")),
        "string": pa.array(texts),
        "binary": pa.array([text.encode() for text in texts]),
    }


def test_the_same_hash_as_spark(spark: SparkSession) -> None:
    arrays = columns()
    keys = [[name] for name in arrays] + [["long", "string"], ["string", "int", "double", "date"]]
    rows = spark.createDataFrame(pa.table(arrays))
    found = rows.selectExpr(
        *(f"xxhash64({', '.join(f'`{name}`' for name in key)})" for key in keys)
    ).toArrow()
    assert all(hashable(array.type) for array in arrays.values())
    for number, key in enumerate(keys):
        wanted = found.column(number).to_pylist()
        assert hash_keys([arrays[name] for name in key]).tolist() == wanted, key
        # Arrays with an offset, as they come out of a larger batch.
        assert hash_keys([arrays[name].slice(17, 300) for name in key]).tolist() == wanted[17:317], key
