"""A stage that takes a Kafka topic into a category. It is no query of Spark: a thread of the run reads the
topic (`kafka/topic_intake.py`), on a cluster that of the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from dovetail.connectors.kafka_client import cluster_of, kafka
from dovetail.connectors.schema_registry import registry_of
from dovetail.connectors.secret import reveal
from dovetail.kafka.decoding import Decoder
from dovetail.kafka.formats import format_of
from dovetail.kafka.rejects import Rejects
from dovetail.kafka.topic import Topic
from dovetail.kafka.topic_intake import TopicIntake, TopicReading
from dovetail.log.category import Category
from dovetail.plan.kafka_options import FIELDS, is_offsets, offsets_of
from dovetail.plan.physical import CategoryOutput, InputTable, KafkaSource, SlicerStage, rejects_category
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.resident import ResidentSlicer
from dovetail.spark.arrow_types import arrow_schema


@dataclass(frozen=True)
class TopicResidence:
    stage: SlicerStage
    table: InputTable
    source: KafkaSource
    category: str

    def nothing(self, spark: SparkSession) -> DataFrame:
        """No rows, in the columns of the table. Also where it is found out, before anything starts, that the
        client is missing, a secret is not set, or the format cannot hold a column."""
        kafka()
        self._given()
        schema = StructType()
        for column in self.table.columns:
            schema.add(column.name, DataType.fromDDL(column.type or "string"))
        self._decoder(arrow_schema(schema))
        return spark.createDataFrame([], schema)

    def slicing(self, home: str, *, finite: bool, **how: Any) -> ResidentSlicer:
        """To be started. `how`: see `ResidentSlicer`."""
        category = Category.open(home, self.category)
        application = self.category.removesuffix(f".{self.stage.name}")
        slicer = Slicer(application, self.stage.name, self.source.topic)
        return ResidentSlicer(
            category, slicer, lambda: self._open(category, slicer, finite), finite=finite, **how
        )

    def _open(self, category: Category, slicer: Slicer, finite: bool) -> TopicIntake:
        given = self._given()
        limit = given.get("max_records_per_second")
        reading = TopicReading(
            _start(given.get("start", "earliest")),
            int(limit) if limit else None,
            given.get("on_data_loss") == "continue",
            finite,
        )
        aside = rejects_category(slicer.application, self.stage.name)
        return TopicIntake(
            category,
            slicer,
            Topic(cluster_of(given), self.source.topic),
            self._decoder(category.schema),
            Rejects(category.home, aside, slicer.producer, self.source.topic),
            reading,
            time_column=next((one.name for one in category.schema if pa.types.is_timestamp(one.type)), None),
        )

    def _given(self) -> Mapping[str, Any]:
        """The options, with the values of secrets."""
        return reveal([*self.source.options, ("brokers", self.source.brokers)]).values

    def _decoder(self, schema: pa.Schema) -> Decoder:
        given = {name: str(value) for name, value in self.source.options}
        names = {name.lower(): name for name in schema.names}
        fields = {part: names[given[part].lower()] for part in FIELDS if part in given}
        values = pa.schema([field for field in schema if field.name not in fields.values()])
        made = format_of(
            self.source.format,
            values,
            given.get("times", "iso"),
            given.get("sep", ","),
            registry_of(self._given()),
        )
        return Decoder(schema, made, fields)


def records_of(stage: SlicerStage) -> TopicResidence | None:
    """None: the stage reads no topic."""
    for table in stage.inputs:
        if isinstance(table.source, KafkaSource):
            assert isinstance(stage.output, CategoryOutput)
            assert len(stage.inputs) == 1
            return TopicResidence(stage, table, table.source, stage.output.category)
    return None


def _start(text: str) -> Any:
    if text in ("earliest", "latest"):
        return text
    return offsets_of(text) if is_offsets(text) else datetime.fromisoformat(text)
