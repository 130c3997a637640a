"""Fetch the servers that tests start, while tests that need none of them run: those first to which tests come
first."""

from __future__ import annotations

from dovetail.service.cli.stop_signals import unwind_on_sigterm
from dovetail_dev import hive_metastore, iceberg_rest, kafka_broker, schema_registry

SERVERS = (
    hive_metastore.installed,
    iceberg_rest.rest_jars,
    kafka_broker.broker_jars,
    schema_registry.unpacked_registry,
)


def fetch_ahead() -> None:
    for fetched in SERVERS:
        try:
            fetched()
        except AssertionError:
            continue  # its tests say what is missing


if __name__ == "__main__":
    unwind_on_sigterm()  # so that a server that was started for its first tables does not stay behind
    fetch_ahead()
