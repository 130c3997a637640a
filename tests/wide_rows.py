"""Rows as services log them: URLs, agents, JSON, ids. `flavour` changes what they have in common."""

from __future__ import annotations

import json
import random

import pyarrow as pa

from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.slicing.write_rows import bucket_of, time_of

SCHEMA = pa.schema(
    [
        pa.field("_hash", pa.int64(), nullable=False),
        pa.field("_time", pa.int64(), nullable=False),
        pa.field("_key_0", pa.string()),
        pa.field("url", pa.string()),
        pa.field("agent", pa.string()),
        pa.field("attributes", pa.string()),
        pa.field("score", pa.float64()),
    ]
)


def wide_rows(count: int, seed: int = 1, flavour: str = "shop") -> pa.RecordBatch:
    common, rng = random.Random(flavour), random.Random(seed)
    words = ["".join(common.choices("abcdefghijklmnopqrstuvwxyz", k=12)) for _ in range(300)]
    agents = [" ".join(common.sample(words, 8)) for _ in range(40)]
    country, session = common.sample(words, 2)
    rows = [
        {
            "_hash": rng.getrandbits(62),
            "_time": number * 1000,
            "_key_0": f"user-{rng.randrange(10**6)}",
            "url": f"https://{flavour}.example.com/{rng.choice(words)}?ref={rng.getrandbits(32):x}",
            "agent": rng.choice(agents),
            "attributes": json.dumps({country: rng.choice(words), session: rng.choice(words)}),
            "score": rng.random(),
        }
        for number in range(count)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def noise(count: int, seed: int = 1) -> pa.RecordBatch:
    """As wide, but nothing in common."""
    rng = random.Random(seed)
    batch = wide_rows(count, seed)
    texts = pa.array(["".join(chr(rng.randrange(32, 0xD000)) for _ in range(100)) for _ in range(count)])
    return batch.set_column(3, SCHEMA.field("url"), texts)


def put(category: Category, *batches: pa.RecordBatch) -> Commit:
    infos = category.write_segments(batches, bucket_of("_hash", category.buckets), time_of("_time"))
    commit = category.append(infos)
    assert commit is not None
    return commit
