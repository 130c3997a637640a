"""A Kafka broker and a PostgreSQL server of one's own, for as long as something needs them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dovetail.service.torture.outside import Servers
from dovetail_dev.kafka_broker import Broker
from dovetail_dev.postgres_server import postgres_server


@contextmanager
def servers() -> Iterator[Servers]:
    with tempfile.TemporaryDirectory(prefix="dovetail-broker-") as folder, postgres_server() as database:
        broker = Broker(Path(folder))
        broker.start()
        try:
            yield Servers(broker, database)
        finally:
            broker.kill()
