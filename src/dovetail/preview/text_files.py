"""JSON and CSV files that a side has read, read again.

Law: the rows are those that the slicer has read, in the columns that the new version declares. Lines are read
as a slicer reads plain ones (`slicing/text_lines.py`). Those that it leaves to Spark are an error here: a
preview has no Spark to ask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa

from dovetail.errors import InputError, PreviewError
from dovetail.plan.evaluate import simple_type
from dovetail.plan.physical import FilesSource, SlicerStage
from dovetail.slicing.input_files import csv_header, local_path
from dovetail.slicing.text_form import blocks, header_of
from dovetail.slicing.text_lines import MOMENT, TextFormat
from dovetail.slicing.text_options import UTC, text_format

BESIDE = (
    "run the changed query beside this one, under another application name and with other places for its "
    "tables, and compare what both write"
)
_SHOWN = 80
"""How much of a line an error shows."""


class TextFiles:
    """`stage`: the slicer of the new version. `zone`: in which its queries see times."""

    def __init__(self, stage: SlicerStage, source: FilesSource, zone: str) -> None:
        self._stage, self._source, self._table = stage, source, stage.inputs[0].name
        self._place = os.path.abspath(local_path(source.path))
        given = dict(source.options)
        if source.format == "csv":
            given.setdefault("header", "true")
        self._options = {name.lower(): value for name, value in given.items()}
        self._known = self._format(self.schema)
        if zone not in UTC and MOMENT in self.schema.types:
            raise self._left_to_spark(f"with times in time zone {zone}", "times in UTC")

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that are declared."""
        kinds = {}
        for column in self._stage.inputs[0].columns:
            declared = column.type or "string"
            kind = pa.float32() if declared.upper() in ("FLOAT", "REAL") else simple_type(declared)
            if kind is None:
                what = f"with column {column.name}, which is {declared}"
                raise self._left_to_spark(what, "numbers, texts, booleans, dates and times")
            kinds[column.name] = kind
        return pa.schema(kinds)

    def rows(self, file: str) -> Iterator[pa.Table]:
        """In the declared columns; a part of the file at a time."""
        if not os.path.getsize(file):
            return
        format_ = self._format_of(file)
        for lines in blocks(file, format_):
            found, doubtful = format_.rows(lines, self.schema.names)
            if doubtful:
                line = doubtful.partition(b"\n")[0].decode(errors="replace")
                raise PreviewError(
                    f"a file that {self._stage.name} has read has lines that only Spark can read",
                    where=file,
                    expected="on each line one flat object, or one field for each column, with values that "
                    "fit their types",
                    hint=f"the first of these lines is {line[:_SHOWN]}. To compare its rows, {BESIDE}",
                )
            yield found.select(self.schema.names)

    def _format_of(self, file: str) -> TextFormat:
        """The columns are in the order in which the file names them. What is not declared is text."""
        format_: TextFormat | None = self._known
        if self._known.header:
            format_ = self._with_header(file)
        if format_ is None or header_of(file, self._place, format_) is None:
            raise PreviewError(
                f"a file that {self._stage.name} has read can only be read by Spark",
                where=file,
                expected="lines of text that are not packed and have no byte order mark, with a plain header "
                "if they have one, and not in a folder that is the value of a column",
                hint=BESIDE,
            )
        return format_

    def _with_header(self, file: str) -> TextFormat | None:
        try:
            named = csv_header(file, self._known.separator, "utf-8", self.schema.names)
        except InputError:
            return None
        kinds = dict(zip(self.schema.names, self.schema.types, strict=True))
        columns = pa.schema([(name, kinds.get(name, pa.string())) for name in named])
        return text_format(self._source.format, columns, self._options)

    def _format(self, columns: pa.Schema) -> TextFormat:
        found = text_format(self._source.format, columns, self._options)
        by_place = self._options.get("enforceschema", "false").lower() != "false"
        if found is None or (found.header and by_place):
            given = ", ".join(name for name, _ in self._source.options)
            what = f"with the options {given}" if given else "with these columns"
            raise self._left_to_spark(what, "options that a preview follows: header and sep")
        return found

    def _left_to_spark(self, what: str, expected: str) -> PreviewError:
        return PreviewError(
            f"{self._stage.name} reads {self._source.format.upper()} files {what}, which only Spark can read",
            where=f"input table {self._table}",
            expected=expected,
            hint=BESIDE,
        )
