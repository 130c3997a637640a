"""The kinds of storage: what STORAGE may name, and what each takes. The first ones are Spark's, or our own;
the others are sinks with the same few verbs (`sink.py`)."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.connectors.options import EVERY, MERGE_EVERY, PARTITIONED, Option, Value, with_defaults
from dovetail.connectors.secret import reveal
from dovetail.connectors.sink import Sink, SinkKind, Writer
from dovetail.connectors.sinks.delta import DeltaKind
from dovetail.connectors.sinks.duckdb import DuckdbKind
from dovetail.connectors.sinks.hive import HiveKind
from dovetail.connectors.sinks.iceberg import IcebergKind
from dovetail.connectors.sinks.jdbc import JdbcKind
from dovetail.connectors.sinks.kafka import KafkaKind
from dovetail.connectors.sinks.postgres import PostgresKind
from dovetail.model.compression import COMPRESSIONS

MOST_BUCKETS = 4096
PATH = Option("path", "text", "The folder of the files.", required=True)

_KINDS: tuple[SinkKind, ...] = (
    PostgresKind(),
    JdbcKind(),
    DuckdbKind(),
    DeltaKind(),
    IcebergKind(),
    HiveKind(),
    KafkaKind(),
)
SINKS: dict[str, SinkKind] = {kind.name: kind for kind in _KINDS}
"""Sinks outside, by name."""

STORAGES: dict[str, tuple[Option, ...]] = {
    "SCRIBE": (
        Option("category", "category", "The category that the rows go to.", required=True),
        Option("shard", "expression", "Distributes rows over buckets."),
        Option("buckets", "whole", "How many buckets.", most=MOST_BUCKETS),
        Option("compression", "choice", "Compress wide rows.", default="auto", choices=COMPRESSIONS),
        Option("keep", "interval", "How long rows stay."),
        Option("keep_bytes", "whole", "How many bytes of rows stay."),
    ),
    "PARQUET": (PATH, PARTITIONED, EVERY, MERGE_EVERY),
    "JSON": (PATH, PARTITIONED, EVERY, MERGE_EVERY),
    "CSV": (
        PATH,
        PARTITIONED,
        Option("header", "flag", "Begin each file with a header line.", default=True),
        EVERY,
        MERGE_EVERY,
    ),
    "CONSOLE": (),
    "NOOP": (),
    **{name: kind.options for name, kind in SINKS.items()},
}


def open_sink(storage: str, options: Iterable[tuple[str, Value]], writer: Writer) -> Sink:
    """Nothing is contacted yet, but a missing library or secret is an error now."""
    given = reveal(with_defaults(STORAGES[storage], options).items())
    return SINKS[storage].open(given, writer)


def option(storage: str, name: str) -> Option:
    return next(one for one in STORAGES[storage] if one.name == name)
