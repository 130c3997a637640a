"""The physical plan: stages of Spark SQL between categories, as frozen data with a versioned JSON form.

A stage is one Spark query. Stages are in topological order and communicate only through categories. SQL texts
are Spark's, with every identifier in backquotes. They read the relations that the stage defines before them:
its inputs, then its views in order (in a join stage, the join source's output under `source_name`, then its
views).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dovetail.connectors.kinds import SINKS, STORAGES
from dovetail.connectors.lake_kinds import LAKES
from dovetail.connectors.lookup_kinds import LOOKUPS
from dovetail.connectors.options import Value, with_defaults
from dovetail.connectors.secret import Secret
from dovetail.errors import CorruptFile, DovetailError, UnknownVersion
from dovetail.model.compression import Compression
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_config import numbered
from dovetail.model.join_kind import KINDS, JoinKind
from dovetail.model.join_settings import JoinSettings
from dovetail.model.lookup import LookupSpec
from dovetail.model.promise import PromisedColumn
from dovetail.model.python_function import PythonFunction
from dovetail.model.theta import Constant, Operand, Operation
from dovetail.model.time_window import TimeWindow
from dovetail.model.window_config import WindowSettings
from dovetail.plan.plan_json import decode, encode

PLAN_VERSION = 6
"""Before version 6 a query had no functions of its own and no time zone. Before version 5 nothing
went to external systems, and a stage had one source and a join one state for ever.
Before version 4 no plan followed another. Before version 3 a category in the log did not say how long it
keeps rows; aggregates had a watermark."""


@dataclass(frozen=True)
class Column:
    """`type` is a Spark DDL type, or None if only the source knows it."""

    name: str
    type: str | None


@dataclass(frozen=True)
class ScribeSource:
    """`FROM SCRIBE("category")`: a category of the log."""

    category: str


@dataclass(frozen=True)
class FilesSource:
    """`FROM FILES("path", format = "...", ...)`: a directory that Spark reads as a stream."""

    path: str
    format: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class KafkaSource:
    """`FROM KAFKA("topic", brokers = "...", format = "...", ...)`, with the options of
    `plan/kafka_options.py`."""

    topic: str
    brokers: str
    format: str
    options: tuple[tuple[str, str | Secret], ...] = ()


@dataclass(frozen=True)
class LakeSource:
    """`FROM DELTA(..)` or `FROM ICEBERG(..)`: the rows that are appended to a lake's table. Its options are
    in `connectors/lake_kinds.py`."""

    lake: str
    options: tuple[tuple[str, Value], ...] = ()

    def get(self, name: str) -> Any:
        return with_defaults(LAKES[self.lake].options, self.options)[name]

    @property
    def place(self) -> str:
        return LAKES[self.lake].place(with_defaults(LAKES[self.lake].options, self.options))


@dataclass(frozen=True)
class TableSource:
    """`CREATE LOOKUP TABLE .. FROM kind(..)`: a table of `connectors/lookup_kinds.py` that streams are
    looked up in. It is read as a whole."""

    table: str
    options: tuple[tuple[str, Value], ...] = ()

    def get(self, name: str) -> Any:
        return with_defaults(LOOKUPS[self.table].options, self.options)[name]

    @property
    def place(self) -> str:
        return LOOKUPS[self.table].place(with_defaults(LOOKUPS[self.table].options, self.options))


Source = ScribeSource | FilesSource | KafkaSource | LakeSource


@dataclass(frozen=True)
class InputTable:
    name: str
    columns: tuple[Column, ...]
    source: Source


@dataclass(frozen=True)
class Lookup:
    """A table outside, and what of it is added to each row."""

    table: str
    columns: tuple[Column, ...]
    source: TableSource
    spec: LookupSpec


@dataclass(frozen=True)
class Relation:
    """A temporary view."""

    name: str
    sql: str


@dataclass(frozen=True)
class CategoryOutput:
    """An intermediate category. With a time: a side of a join, sharded by its keys if it has any, or the rows
    of an aggregate; without: a join, or closed windows. `promises`: the columns of which its commits say what
    is still to come."""

    category: str
    keys: tuple[str, ...]
    time: str | None
    buckets: int
    compression: Compression = "auto"
    promises: tuple[PromisedColumn, ...] = ()

    @property
    def place(self) -> str:
        return f"category {self.category}"


@dataclass(frozen=True)
class ScribeSink:
    """`shard` is Spark SQL over the select's columns; `buckets` None takes the log's default. How long rows
    stay: None leaves that as it is, set for the category or its default."""

    category: str
    shard: str | None = None
    buckets: int | None = None
    compression: Compression = "auto"
    keep_us: int | None = None
    keep_bytes: int | None = None
    promises: tuple[PromisedColumn, ...] = ()

    @property
    def place(self) -> str:
        return f"category {self.category}"


@dataclass(frozen=True)
class FileSink:
    """Files of Spark's file sink, with a folder for each value of `partitioned`. `options` are Spark's.
    `every_us`: how often they are written at most. `merge_every`: after how many batches small ones become
    large ones."""

    format: str
    path: str
    partitioned: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    every_us: int | None = None
    merge_every: int | None = None

    @property
    def place(self) -> str:
        return f"{self.format} files in {self.path}"


@dataclass(frozen=True)
class ConsoleSink:
    @property
    def place(self) -> str:
        return "the console"


@dataclass(frozen=True)
class NoopSink:
    @property
    def place(self) -> str:
        return "nowhere"


@dataclass(frozen=True)
class OutsideSink:
    """A sink of `connectors/kinds.py` by the name that STORAGE gives it, with the options that were given."""

    storage: str
    options: tuple[tuple[str, Value], ...] = ()

    @property
    def place(self) -> str:
        return SINKS[self.storage].place(with_defaults(STORAGES[self.storage], self.options))


Sink = ScribeSink | FileSink | ConsoleSink | NoopSink | OutsideSink
Output = CategoryOutput | Sink
"""Each says its `place`, for people. Two outputs that say the same are one place."""


@dataclass(frozen=True)
class SlicerStage:
    """Reads inputs, evaluates, writes. A join's side yields `_key_0`.., `_time` and payload columns.
    `reading`: how many sources it has had, one after the other, since it was first started. `lookup`: what
    is added to the rows of its select before they are written."""

    name: str
    inputs: tuple[InputTable, ...]
    views: tuple[Relation, ...]
    select: str
    output: Output
    reading: int = 1
    lookup: Lookup | None = None


@dataclass(frozen=True)
class JoinColumn:
    """A column that the join source yields: `source` is its name in the category of `side`; of the side
    "window" it is `start` or `end`."""

    name: str
    side: str
    source: str
    type: str | None = None


@dataclass(frozen=True)
class JoinStage:
    """Joins two categories, then evaluates what could not be evaluated before, and writes. `query`: how many
    meanings the join has had since it was first started, see `JoinConfig`. `begun`: how many times it has
    begun, with nothing that it has seen before. `filled`, `whole`: what it was filled with then, see
    `JoinConfig`."""

    name: str
    left: str
    right: str
    join_kind: JoinKind
    settings: JoinSettings
    source_name: str
    columns: tuple[JoinColumn, ...]
    views: tuple[Relation, ...]
    select: str
    output: Output
    query: int = 1
    begun: int = 1
    filled: tuple[int, ...] = ()
    whole: bool = False

    @property
    def spec(self) -> IntervalSpec:
        return self.join_kind.spec


@dataclass(frozen=True)
class WindowStage:
    """Aggregates the rows of a category when their time windows close. `columns` are those that the query
    reads. It sees them under `source_name`, with one more column `window_name`: the struct of the window's
    start and end. `keys`: the columns whose equal values make a session."""

    name: str
    rows: str
    window: TimeWindow
    settings: WindowSettings
    keys: tuple[str, ...]
    source_name: str
    window_name: str
    columns: tuple[Column, ...]
    select: str
    output: Output

    @property
    def table(self) -> str:
        """The table that it makes, as the query calls it."""
        return self.rows.partition(".")[2].removesuffix(".rows")

    @property
    def late(self) -> str:
        """The category of rows that came after their window had closed."""
        return f"{self.rows.removesuffix('.rows')}.late"


Stage = SlicerStage | JoinStage | WindowStage


def filed_under(stage: Stage) -> str:
    """The name of a stage's progress in the home: each source that it has had has one of its own, and so does
    a join that has begun afresh."""
    match stage:
        case SlicerStage(reading=number) | JoinStage(begun=number):
            return numbered(stage.name, number)
    return stage.name


@dataclass(frozen=True)
class Plan:
    application: str
    stages: tuple[Stage, ...]
    warnings: tuple[str, ...] = ()
    functions: tuple[PythonFunction, ...] = ()  # that its stages call, under the names of `shipped`
    time_zone: str = "UTC"  # in which expressions see times

    @property
    def joins(self) -> tuple[JoinStage, ...]:
        return tuple(stage for stage in self.stages if isinstance(stage, JoinStage))

    @property
    def slicers(self) -> tuple[SlicerStage, ...]:
        return tuple(stage for stage in self.stages if isinstance(stage, SlicerStage))

    @property
    def windows(self) -> tuple[WindowStage, ...]:
        return tuple(stage for stage in self.stages if isinstance(stage, WindowStage))

    def to_json(self) -> dict[str, Any]:
        return {"version": PLAN_VERSION, **encode(self, _KINDS)}

    @classmethod
    def from_json(cls, data: Any) -> Plan:
        version = data.get("version") if isinstance(data, dict) else None
        if version == 1:
            data, version = _from_version_1(data), 2
        if version == 2:
            data, version = _from_version_2(data), 3
        if version in (3, 4, 5):
            data, version = {**data, "version": PLAN_VERSION}, PLAN_VERSION
        if version != PLAN_VERSION:
            raise UnknownVersion(
                f"a plan of version {version!r} cannot be read",
                expected=f"version {PLAN_VERSION}",
                hint="plan the application again from its PQL text with this release",
            )
        try:
            body = {name: value for name, value in data.items() if name != "version"}
            plan: Plan = decode(body, cls, _KINDS)
        except DovetailError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CorruptFile(
                f"this is not a plan: {type(error).__name__}: {error}",
                hint="plan the application again from its PQL text",
            ) from None
        return plan


_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        ScribeSource,
        FilesSource,
        KafkaSource,
        LakeSource,
        TableSource,
        CategoryOutput,
        ScribeSink,
        FileSink,
        ConsoleSink,
        NoopSink,
        OutsideSink,
        Secret,
        SlicerStage,
        JoinStage,
        WindowStage,
        *KINDS,
        Operand,
        Constant,
        Operation,
    )
}


def _from_version_1(data: dict[str, Any]) -> dict[str, Any]:
    """Until version 2 a join stage had `spec` and, for two of the kinds, `theta` or `window` beside it."""
    stages = [dict(stage) for stage in data.get("stages", ())]
    for stage in (stage for stage in stages if stage.get("kind") == "JoinStage"):
        spec, theta, window = (stage.pop(name, None) for name in ("spec", "theta", "window"))
        if window is not None:
            stage["join_kind"] = {"kind": "WindowedJoin", "how": spec["how"], "window": window}
        elif theta is not None:
            stage["join_kind"] = {"kind": "ThetaJoin", "spec": spec, "theta": theta}
        else:
            stage["join_kind"] = {"kind": "IntervalJoin", "spec": spec}
    return {**data, "version": 2, "stages": stages}


def _from_version_2(data: dict[str, Any]) -> dict[str, Any]:
    """Until version 3 stages had a watermark, which Spark aggregated by. A plan with one is another plan
    now."""
    kept = [{name: part for name, part in s.items() if name != "watermark"} for s in data.get("stages", ())]
    return {**data, "version": 3, "stages": kept}


def rejects_category(application: str, table: str) -> str:
    """The category of the unreadable rows of an input table."""
    return f"{application}.rejects.{table}"


def vanished_category(application: str, table: str) -> str:
    """The category of the names of an input table's files that were gone before they were read."""
    return f"{application}.vanished.{table}"
