"""A streaming DataFrame that only reads files, and picks and renames their columns: which files, which
columns.

Law: if `files_read` returns something, the rows of the DataFrame are those of the files, with columns
renamed by `columns`. It goes by the plan that Spark's analyzer made, so it does not matter how the
DataFrame was written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

_TRANSPARENT = ("SubqueryAlias", "EventTimeWatermark")
"""Nodes that pass rows on as they are. A watermark means nothing to a query without state."""


@dataclass(frozen=True)
class FilesRead:
    place: str
    format: str
    options: dict[str, str]  # by lower-case name
    columns: dict[str, str]  # output column -> column of the files
    schema: StructType | None = None  # of the files, if the query says it


def files_read(rows: DataFrame) -> FilesRead | None:
    """None: it reads something else, or computes, filters or combines."""
    node = rows._jdf.queryExecution().analyzed()
    outputs = [(item.name(), item.exprId().id()) for item in _items(node.output())]
    origin = {id_: id_ for _, id_ in outputs}
    while True:
        kind = node.getClass().getSimpleName()
        if kind == "StreamingRelation":
            break
        if kind == "Project":
            made = _renamed(node)
            if made is None or not set(origin.values()) <= made.keys():
                return None
            origin = {output: made[id_] for output, id_ in origin.items()}
        elif kind not in _TRANSPARENT:
            return None
        if node.children().size() != 1:
            return None
        node = node.children().apply(0)
    given = {item.exprId().id(): item.name() for item in _items(node.output())}
    source = node.dataSource()
    options = {name.lower(): value for name, value in _pairs(source.options())}
    place = options.pop("path", None)
    if place is None or not set(origin.values()) <= given.keys() or len(set(outputs)) != len(outputs):
        return None
    columns = {name: given[origin[id_]] for name, id_ in outputs}
    if len(columns) < len(outputs):
        return None
    schema = StructType.fromJson(json.loads(node.schema().json()))
    return FilesRead(place, source.className(), options, columns, schema)


def _renamed(project: Any) -> dict[int, int] | None:
    """By the number of an output column of a projection: that of the input column that it is."""
    made = {}
    for item in _items(project.projectList()):
        kind = item.getClass().getSimpleName()
        column = item.child() if kind == "Alias" else item
        if column.getClass().getSimpleName() != "AttributeReference":
            return None
        made[item.exprId().id()] = column.exprId().id()
    return made


def _items(seq: Any) -> list[Any]:
    return [seq.apply(number) for number in range(seq.size())]


def _pairs(options: Any) -> list[tuple[str, str]]:
    found, entries = [], options.iterator()
    while entries.hasNext():
        entry = entries.next()
        found.append((entry._1(), entry._2()))
    return found
