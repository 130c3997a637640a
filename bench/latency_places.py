"""Where `bench latency` runs an application: on this machine, with its home on S3, or on two workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Place = Literal["here", "s3", "cluster"]


@dataclass(frozen=True)
class Whereabouts:
    """What a process must know of a place. No `home`: the folder of the run; no `master`: its own cores."""

    home: str | None = None
    master: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)


@contextmanager
def at(place: Place, folder: Path) -> Iterator[Whereabouts]:
    """The servers of a place, for as long as they are needed: an S3 API (moto) or a standalone cluster of
    Spark with two workers of one core each, both on loopback."""
    if place == "s3":
        from dovetail_dev.s3_server import BUCKET, s3_server

        with s3_server(folder) as server:
            yield Whereabouts(home=f"s3://{BUCKET}", environment=server.environment)
    elif place == "cluster":
        from dovetail_dev.spark_cluster import standalone_cluster

        with standalone_cluster(folder / "cluster") as cluster:
            yield Whereabouts(master=cluster.address, settings={"spark.executor.memory": "512m"})
    else:
        yield Whereabouts()
