"""A physical plan as streaming DataFrames: every stage built, nothing started.

Building creates the intermediate categories and lets Spark's analyzer see every expression, so that whatever
it can find wrong is found before a row is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType, TimestampType

from dovetail.engine.gates import Gates
from dovetail.errors import PlanError
from dovetail.joins.theta.condition import check_types
from dovetail.joins.worth import check_order
from dovetail.log.category import Category
from dovetail.model.join_config import JoinConfig
from dovetail.model.validity import Validity
from dovetail.plan.configure import join_config, window_config
from dovetail.plan.physical import (
    CategoryOutput,
    JoinStage,
    Output,
    OutsideSink,
    Plan,
    Relation,
    ScribeSource,
    SlicerStage,
    Stage,
    WindowStage,
    filed_under,
)
from dovetail.plan.projection import plain_projection
from dovetail.plan.rejects_query import rejects_query
from dovetail.plan.shared import reserve
from dovetail.spark.aggregation import Aggregation, source_schema
from dovetail.spark.arrow_types import arrow_schema, spark_schema
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.file_frames import FilesRead
from dovetail.spark.inputs import Portion, read_input, read_rejects
from dovetail.spark.join_source import DRIVER, JoinSource, Writing
from dovetail.spark.lake_residence import LakeResidence, appended_to
from dovetail.spark.lookup_residence import LookupResidence, looked_up_by
from dovetail.spark.outside import require_reach, sink_of
from dovetail.spark.own_source import own_source
from dovetail.spark.python_functions import register
from dovetail.spark.residence import Residence, may_reside, read_by, residence
from dovetail.spark.session import TIME_ZONE, driver_address
from dovetail.spark.slicer import common_type, make_category, require_time, sliced
from dovetail.spark.topic_residence import TopicResidence, records_of
from dovetail.spark.window_source import WindowSource

Wanted = Callable[[DataFrame], DataFrame]
"""Some of the rows of an input."""


@dataclass
class BuiltStage:
    """A stage ready to start. `after` names the stages whose output it reads."""

    name: str
    rows: DataFrame
    output: Output
    after: tuple[str, ...]
    stage: Stage
    join: JoinConfig | None = None
    joined: StructType | None = None  # of a join: the columns that its source yields
    rejects: dict[str, DataFrame] | None = None  # unreadable rows, of the inputs that it reads first
    validity: Validity | None = None  # of rows with a time: which event times are believed
    upstream: JoinStage | None = None  # of a DataFrame's rows: the join that their time comes from
    aggregation: Aggregation | None = None  # of the rows of each micro-batch
    result: DataFrame | None = None  # no rows, in the columns of the aggregation
    writing: Writing | None = None  # of a join that was started: how its tasks write, if they do
    read: FilesRead | None = None  # the files that its rows are, if they are no more than that
    keeps_promise: bool = False  # it promises what it has promised, although its streams end
    resident: Residence | TopicResidence | LakeResidence | LookupResidence | None = (
        None  # it is no query: a thread of the run slices what it reads
    )

    @property
    def record(self) -> str:
        """The name of its progress."""
        return filed_under(self.stage)

    @property
    def sinks(self) -> bool:
        """Its rows leave the application."""
        return not isinstance(self.output, CategoryOutput)

    @property
    def starts_process(self) -> bool:
        """Its query reads a Python source: that starts a process of its own."""
        inputs = self.stage.inputs if isinstance(self.stage, SlicerStage) else ()
        if self.waits:
            return True
        if self.resident is not None:
            return False
        return any(isinstance(table.source, ScribeSource) for table in inputs)

    @property
    def waits(self) -> bool:
        """Its source can be started early, and waits at its gate."""
        return self.join is not None or self.aggregation is not None


class Builder:
    """Builds the stages of one plan, in order."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        home: str,
        tasks: int,
        *,
        index_dir: str | None,
        drain: bool,
        gates: Gates | None = None,
        overlaps: bool = False,
        only: Mapping[str, Portion] = MappingProxyType({}),
        wanted: Mapping[str, Wanted] = MappingProxyType({}),
    ) -> None:
        self.spark = spark
        self.plan = plan
        self.home = home
        self.tasks = tasks
        self.index_dir = index_dir
        self.drain = drain
        self.gates = gates
        self.overlaps = overlaps  # joins run while resident slicers still work off what there is
        self.only = only  # by stage: what it reads of its input, and not as a stream
        self.wanted = wanted  # by stage: which rows of that
        self._resides = not only and may_reside(str(spark.sparkContext.master))
        self._built: dict[str, BuiltStage] = {}
        self._writers: dict[str, str] = {}  # category -> stage
        self._watched: set[str] = set()  # input tables whose unreadable rows a stage keeps

    @property
    def stages(self) -> list[BuiltStage]:
        return list(self._built.values())

    def build(self) -> list[BuiltStage]:
        self.spark.conf.set(TIME_ZONE, self.plan.time_zone)
        register(self.spark, self.plan.functions)
        for stage in self.plan.stages:
            self.build_stage(stage)
        return self.stages

    def build_stage(self, stage: Stage) -> BuiltStage:
        try:
            match stage:
                case JoinStage():
                    return self._keep(self._join(stage))
                case WindowStage():
                    return self._keep(self._windows(stage))
                case SlicerStage():
                    return self._keep(self._slicer(stage))
        except (AnalysisException, ParseException) as error:
            raise PlanError(
                f"Spark does not accept the query: {_first_sentence(error)}",
                where=f"stage {stage.name}",
                hint="`dovetail plan --rules` shows the query as it was rewritten",
            ) from error

    def adopt(self, stage: SlicerStage, rows: DataFrame, upstream: JoinStage | None = None) -> None:
        """Take a DataFrame as the rows of a join's side: its keys, its time and payload. `upstream`: the join
        that its time comes from."""
        read = read_by(stage, rows) if self._resides else None
        self._keep(BuiltStage(stage.name, rows, stage.output, (), stage, upstream=upstream, read=read))

    def _keep(self, built: BuiltStage) -> BuiltStage:
        """A stage that writes to a category gets it here. The rows of an aggregate are sliced at once, the
        sides of a join when both are there: their keys need common types."""
        self._built[built.name] = built
        output = built.output
        if isinstance(output, OutsideSink):
            require_reach(output, str(self.spark.sparkContext.master), built.name)
            checkpoint = Checkpoint(self.home, self.plan.application, built.record)
            sink_of(output, checkpoint).check(arrow_schema(built.rows.schema))
        if isinstance(output, CategoryOutput):
            self._writers[output.category] = built.name
            if output.time is None:
                buckets = output.buckets if built.join is not None else 1
                rows = built.rows if built.result is None else built.result
                make_category(rows, self.home, output.category, buckets, output.compression, "view")
            for aggregate in self.plan.windows:
                if output.category == aggregate.rows:
                    self._slice_rows(built, output, aggregate)
            for join in self.plan.joins:
                sides = {join.left, join.right}
                if output.category in sides and sides <= self._writers.keys():
                    self._slice_sides(join)
        return built

    def _slicer(self, stage: SlicerStage) -> BuiltStage:
        if (topic := records_of(stage)) is not None:
            rows = topic.nothing(self.spark)
            return BuiltStage(stage.name, rows, stage.output, (), stage, resident=topic)
        if (lake := appended_to(stage)) is not None:
            rows = lake.nothing(self.spark)
            return BuiltStage(stage.name, rows, stage.output, (), stage, resident=lake)
        if (lookup := looked_up_by(stage)) is not None:
            rows = lookup.nothing(self.spark, self.home)
            writer = self._writers.get(lookup.source)
            after_it = () if writer is None else (writer,)
            return BuiltStage(stage.name, rows, stage.output, after_it, stage, resident=lookup)
        rejects = {}
        after = []
        for table in stage.inputs:
            reader = self.plan.application, stage.name
            only = self.only.get(stage.name)
            read = read_input(self.spark, table, self.home, reader, self.tasks, only)
            if (wanted := self.wanted.get(stage.name)) is not None:
                read = wanted(read)
            read.createOrReplaceTempView(f"`{table.name}`")
            if (
                table.name not in self._watched and only is None
            ):  # several stages may read it: its bad rows are kept once
                self._watched.add(table.name)
                bad = read_rejects(self.spark, table)
                if bad is not None:
                    rejects[table.name] = bad
            if isinstance(table.source, ScribeSource) and table.source.category in self._writers:
                after.append(self._writers[table.source.category])
        rows = self._select(stage.views, stage.select)
        files = read_by(stage, rows) if self._resides else None
        return BuiltStage(stage.name, rows, stage.output, tuple(after), stage, rejects=rejects, read=files)

    def _join(self, stage: JoinStage) -> BuiltStage:
        self._require_types(stage)
        config = join_config(
            self.plan,
            stage,
            self.home,
            tasks=self.tasks,
            index_dir=self.index_dir,
            drain=self.drain,
            gate=self.gates.path(stage.name) if self.gates else None,
        )
        writers = [self._built[self._writers[category]] for category in (stage.left, stage.right)]
        fed_by = [writer.name for writer in writers if writer.resident is not None]
        if self.gates and self.overlaps:
            config = replace(config, feeding=tuple(self.gates.path(name) for name in dict.fromkeys(fed_by)))
        picked = plain_projection(stage)
        if picked is not None:  # the source can name the columns as they are wanted: no query to analyse
            given = {column.name: column for column in config.columns}
            columns = tuple(replace(given[source], name=name) for name, source in picked.items())
            config = replace(config, columns=columns)
        left, right = Category.open(self.home, stage.left), Category.open(self.home, stage.right)
        schema = StructType()
        for column in config.columns:
            if column.side == "window":
                schema.add(StructField(column.name, TimestampType(), True))
                continue
            category = left if column.side == "left" else right
            kind = spark_schema(category.schema, category.name)[column.source].dataType
            schema.add(StructField(column.name, kind, True))
        rows = open_join(self.spark, config, schema)
        if picked is None:
            rows.createOrReplaceTempView(f"`{stage.source_name}`")
            rows = self._select(stage.views, stage.select)
        after = tuple(
            name
            for writer in writers
            for name in (writer.after if self.overlaps and writer.resident else (writer.name,))
        )
        return BuiltStage(stage.name, rows, stage.output, after, stage, join=config, joined=schema)

    def _windows(self, stage: WindowStage) -> BuiltStage:
        config = window_config(
            self.plan,
            stage,
            self.home,
            tasks=self.tasks,
            drain=self.drain,
            gate=self.gates.path(stage.name) if self.gates else None,
        )
        category = Category.open(self.home, stage.rows)
        schema = source_schema(stage, spark_schema(category.schema, category.name))
        rows = (
            self.spark.readStream.format(own_source(self.spark, WindowSource))
            .schema(schema)
            .option("config", config.to_json())
            .load()
        )
        aggregation = Aggregation(stage, schema)
        return BuiltStage(
            stage.name,
            rows,
            stage.output,
            (self._writers[stage.rows],),
            stage,
            aggregation=aggregation,
            result=aggregation.of_nothing(self.spark),
        )

    def _slice_rows(self, built: BuiltStage, output: CategoryOutput, aggregate: WindowStage) -> None:
        assert output.time is not None
        require_time(built.rows, output.time, built.name)
        built.rows = sliced(built.rows, (), output.time, ())
        built.validity = aggregate.settings.validity
        make_category(built.rows, self.home, output.category, output.buckets, output.compression, "side")

    def _slice_sides(self, join: JoinStage) -> None:
        """Both sides of a join with keys of common types, and their categories. A side that another join
        shares is sliced already; the planner shares only where the types of the keys agree."""
        sides = [self._built[self._writers[name]] for name in (join.left, join.right)]
        outputs = [side.output for side in sides if isinstance(side.output, CategoryOutput)]
        left, right = (side.rows for side in sides)
        pairs = zip(*(output.keys for output in outputs), strict=True)
        types = [common_type(left, right, keys, join.name) for keys in pairs]
        for side, output in zip(sides, outputs, strict=True):
            if side.validity is not None:
                _require_keys(side, output, types, join.name)
                continue
            assert output.time is not None
            require_time(side.rows, output.time, side.name)
            side.rows = sliced(side.rows, output.keys, output.time, types)
            side.validity = join.settings.validity
            made = make_category(
                side.rows, self.home, output.category, output.buckets, output.compression, "side"
            )
            reserve(self.plan, made, self.plan.application)
            if isinstance(side.stage, SlicerStage):
                self._settle(side, side.stage)

    def _settle(self, side: BuiltStage, stage: SlicerStage) -> None:
        """Decide who slices a side."""
        assert side.validity is not None
        application = self.plan.application
        if self._resides and side.upstream is None:
            rejects = next(
                (rejects_query(stage, self.home, application, table) for table in side.rejects or {}), None
            )
            side.resident = residence(
                stage, side.read, side.validity, self.home, application, self.spark, rejects
            )

    def _require_types(self, stage: JoinStage) -> None:
        """What the join evaluates itself must have a meaning for the types of its columns."""
        conditions, picked_by = stage.join_kind.conditions, stage.spec.picked_by
        if not conditions and picked_by is None:
            return
        left, right = (Category.open(self.home, name).schema for name in (stage.left, stage.right))
        try:
            check_types(conditions, left, right)
            if picked_by is not None:
                check_order(picked_by, left, right)
        except PlanError as error:
            error.where = f"join {stage.name}"
            raise

    def _select(self, views: tuple[Relation, ...], select: str) -> DataFrame:
        for view in views:
            self.spark.sql(view.sql).createOrReplaceTempView(f"`{view.name}`")
        return self.spark.sql(select)


def open_join(
    spark: SparkSession, config: JoinConfig, schema: StructType, writing: Writing | None = None
) -> DataFrame:
    """The rows of a join as a stream, or what its tasks say that they have written."""
    source = own_source(spark, JoinSource, writing=writing)
    reader = spark.readStream.format(source).schema(schema).option("config", config.to_json())
    if (driver := driver_address(spark)) is not None:
        reader = reader.option(DRIVER, json.dumps(driver))
    return reader.load()


def _require_keys(side: BuiltStage, output: CategoryOutput, types: list[DataType], join: str) -> None:
    found = [side.rows.schema[key].dataType for key in output.keys]
    if found != types:
        raise PlanError(
            f"the keys of category {output.category} are {_types(found)}, "
            f"and another join needs {_types(types)}",
            where=f"join {join}",
            expected="keys of the same types in all joins of one relation",
            hint="declare the types of the columns in CREATE INPUT TABLE, or CAST the key in ON",
        )


def _types(types: list[DataType]) -> str:
    return ", ".join(kind.simpleString() for kind in types)


def _first_sentence(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line), "").split(" SQLSTATE")[0]
