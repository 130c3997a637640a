"""The first records of a topic, and the columns that they have: for a JSON or CSV topic whose table does not
list them.

Law: which records are looked at does not depend on the order in which partitions answer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping

import pyarrow as pa

from dovetail.errors import InputError
from dovetail.kafka.formats import without_number
from dovetail.kafka.topic import Topic, Trouble
from dovetail.kafka.topic_reader import TopicReader
from dovetail.slicing.inferred_columns import LOOKED_AT, columns_of

FIRST = 1000
"""Records of a partition, and not more than `LOOKED_AT` bytes."""
PATIENCE_S = 30.0
READ_S = 0.2
LIST_THEM = "list the columns: CREATE INPUT TABLE name (column type, ...) FROM KAFKA(...)"


def topic_columns(topic: Topic, form: str, options: Mapping[str, str]) -> pa.Schema:
    """Columns of the values. Records that no JSON reader takes are passed over: a run sets them aside."""
    try:
        values = first_values(topic)
    except Trouble as trouble:
        raise InputError(
            f"the columns of topic {topic.name} are not known: {trouble}",
            where=topic.cluster.brokers,
            expected="a topic that can be read",
            hint=LIST_THEM,
        ) from None
    lines = list(_objects(values)) if form == "json" else [line for line in map(_line, values) if line]
    if not lines:
        what = "has no records yet" if not values else f"has no records that are {form.upper()}"
        raise InputError(
            f"the columns of topic {topic.name} are not known: it {what}",
            where=topic.cluster.brokers,
            expected="records to look at",
            hint=LIST_THEM,
        )
    times_are_iso = options.get("times", "iso") == "iso"
    read_as = {"header": "false", "sep": options.get("sep", ",")}
    try:
        found = columns_of(b"\n".join(lines) + b"\n", form, read_as)
    except (pa.ArrowException, ValueError) as error:
        raise InputError(
            f"the columns of topic {topic.name} cannot be found: {str(error).splitlines()[0][:120]}",
            where=topic.cluster.brokers,
            expected="first records with the same types in the same columns",
            hint=LIST_THEM,
        ) from error
    return pa.schema([(field.name, _declared(field.type, times_are_iso)) for field in found])


def first_values(topic: Topic) -> list[bytes]:
    """Those of each partition from its beginning on. Raises Trouble where brokers do not give them."""
    partitions = topic.describe().partitions
    begin, ends = topic.begin(partitions), topic.end(partitions)
    open_ = {partition for partition in partitions if begin[partition] < ends[partition]}
    found: dict[int, list[bytes]] = {partition: [] for partition in sorted(open_)}
    sizes = dict.fromkeys(open_, 0)
    taken = dict.fromkeys(open_, 0)
    reader = TopicReader(topic, ())
    try:
        reader.add({partition: begin[partition] for partition in open_})
        until = time.monotonic() + PATIENCE_S
        while open_:
            if time.monotonic() > until:
                raise Trouble(reader.refused or topic.last_error or "brokers do not send its first records")
            records = reader.read(FIRST, READ_S)
            for partition, value in zip(records.partitions.tolist(), records.values.to_pylist(), strict=True):
                if taken[partition] < FIRST and sizes[partition] < LOOKED_AT:
                    taken[partition] += 1
                    sizes[partition] += len(value or b"")
                    found[partition] += [value] if value else []
            for partition in list(open_):
                enough = taken[partition] >= FIRST or sizes[partition] >= LOOKED_AT
                if enough:
                    reader.move(partition, ends[partition])  # so that it sends no more of them
                if enough or partition in reader.astray or reader.positions[partition] >= ends[partition]:
                    open_.discard(partition)
    finally:
        reader.close()
    return [value for values in found.values() for value in values]


def _objects(values: list[bytes]) -> Iterator[bytes]:
    """JSON objects, each in a line. Outside of texts a line break is a space, and texts have none."""
    for value in without_number(pa.array(values, pa.binary())).to_pylist():
        line = _line(value)
        try:
            made = json.loads(line.decode(), parse_constant=_refused)
        except (ValueError, RecursionError):  # the latter for thousands of brackets
            continue
        if isinstance(made, dict):
            yield line


def _refused(word: str) -> None:
    raise ValueError(word)


def _line(value: bytes) -> bytes:
    return value.replace(b"\r", b" ").replace(b"\n", b" ").strip()


def _declared(kind: pa.DataType, times_are_iso: bool) -> pa.DataType:
    """The type in which a run reads such values. Times within objects and lists stay texts, and so do all of
    them where `times` says that TIMESTAMP columns are numbers."""
    if pa.types.is_timestamp(kind):
        return kind if times_are_iso else pa.string()
    return _within(kind)


def _within(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _within(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_within(kind.value_type))
    return pa.string() if pa.types.is_timestamp(kind) or pa.types.is_null(kind) else kind
