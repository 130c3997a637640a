"""The application of a case on Spark that is a chain of joins, or has an aggregate over it: all of its
streams arrive through the log."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.files import find_files
from dovetail.service.torture.aggregate import Aggregate
from dovetail.service.torture.chain import ChainWorkload, chain_query
from dovetail.service.torture.oracle import Result
from dovetail.service.torture.quick_chain import BEGIN_S, table_of
from dovetail.service.torture.spark_application import Application
from dovetail.service.torture.workload import cut


class ChainApplication(Application):
    """Steps are those of its first join: the others may wait for time to go on."""

    def __init__(
        self, folder: Path, chain: ChainWorkload, sink: str, aggregate: Aggregate | None = None
    ) -> None:
        super().__init__(folder, sink, "v0")
        self._chain = chain
        storage = 'SCRIBE(category = "out")' if self._into_log else f'PARQUET(path = "{folder}/out")'
        last = aggregate.select if aggregate else None
        (folder / "app.pql").write_text(chain_query(chain, storage, 60, last))

    def feed_part(self, part: int, parts: int) -> None:
        for number, stream in enumerate(self._chain.streams):
            waiting = self.folder / f"s{number}-{part:03d}.parquet"
            pq.write_table(table_of(cut(stream, part, parts)), waiting)
            append_file(str(self.home), f"s{number}", find_files([str(waiting)])[0])

    def result(self) -> list[Result]:
        return [
            tuple(_number(value) for name, value in row.items() if name != "_hash") for row in self.rows_out()
        ]


def _number(value: Any) -> int | None:
    """Times as seconds since the beginning."""
    if isinstance(value, datetime):
        return int(value.replace(tzinfo=UTC).timestamp()) - BEGIN_S
    number: int | None = value
    return number
