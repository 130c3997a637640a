"""Where a version takes the rows of a join's side from. Commits keep their cut in each case, so both versions
see the same rows in the same order of arrival.

    KeptSide       the running application's own category: nothing differs about the side
    SlicedAgain    commit by commit from the input that it covers, by a slicer that differs
    MadeSide       what an earlier join of the same version puts out
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from dovetail.errors import CategoryNotFound, LogTruncated, PreviewError
from dovetail.local.writing import write_category
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model import json_values as said
from dovetail.plan.physical import (
    CategoryOutput,
    FilesSource,
    KafkaSource,
    LakeSource,
    Plan,
    ScribeSource,
    SlicerStage,
)
from dovetail.plan.stage_promises import after_commits
from dovetail.preview.selecting import select_of
from dovetail.preview.text_files import BESIDE, TextFiles
from dovetail.slicing.covered_files import files_in
from dovetail.slicing.direct import as_read
from dovetail.slicing.input_files import local_path


class SideRows(ABC):
    """`first`: the commit of the running application's category from which on there are rows."""

    first: int = 0

    @abstractmethod
    def category(self) -> Category | None:
        """None: nothing was written yet."""

    @abstractmethod
    def stop(self, commit: int) -> int:
        """Up to which commit of `category` a step goes that went up to `commit` in the running
        application."""

    @property
    def begin(self) -> int:
        """The first commit of `category` to take."""
        return 0


class KeptSide(SideRows):
    def __init__(self, home: str, name: str, first: int) -> None:
        self._category, self.first = Category.open(home, name), first

    def category(self) -> Category:
        return self._category

    def stop(self, commit: int) -> int:
        return max(self.first, commit)

    @property
    def begin(self) -> int:
        return self.first


class MadeSide(SideRows):
    def __init__(self, work: str, name: str) -> None:
        self._work, self._name = work, name

    def category(self) -> Category | None:
        try:
            return Category.open(self._work, self._name)
        except CategoryNotFound:
            return None

    def stop(self, commit: int) -> int:
        category = self.category()
        return 0 if category is None else category.next_commit()


class SlicedAgain(SideRows):
    def __init__(self, plan: Plan, stage: SlicerStage, home: str, work: str, old: SlicerStage, first: int):
        assert isinstance(stage.output, CategoryOutput)
        assert isinstance(old.output, CategoryOutput)
        self._plan, self._stage, self._home, self._work = plan, stage, home, work
        self._old = Category.open(home, old.output.category)
        self._input = _one_input(stage, old)
        self._texts = _texts(stage, self._input, plan)
        self.first = self._readable_from(first)
        self._stops = [0]  # where each commit of the running application's category ends in the new one

    def category(self) -> Category | None:
        assert isinstance(self._stage.output, CategoryOutput)
        return MadeSide(self._work, self._stage.output.category).category()

    def stop(self, commit: int) -> int:
        for number in range(self.first + len(self._stops) - 1, commit):
            self._slice(self._old.commit(number))
            made = self.category()  # a commit without a row that passes is none
            self._stops.append(0 if made is None else made.next_commit())
        return self._stops[max(0, commit - self.first)]

    def _readable_from(self, first: int) -> int:
        """A commit of a category says where its input ends; where it begins, the one before says. The input
        may have been trimmed further than the side."""
        source, stop = self._input, self._old.next_commit()
        if not isinstance(source, ScribeSource):
            return first
        there = Category.open(self._home, source.category).first_commit()
        known = max(first, self._old.first_commit() + (self._old.first_commit() > 0))
        while known < stop and (known > 0 and self._read_to(known - 1) < there):
            known += 1
        return known

    def _slice(self, commit: Commit) -> None:
        tables = list(self._covered(commit))
        if not tables:
            return self._write(None, commit)
        return self._write(pa.concat_tables(tables), commit)

    def _write(self, rows: pa.Table | None, commit: Commit) -> None:
        made = self._made(rows if rows is not None else self._schema().empty_table())
        promise = None
        if isinstance(self._input, ScribeSource):
            read_to = {self._input.category: self._read_to(commit.number)}
            promise = after_commits(self._stage, self._home, read_to)
        batch = commit.number - self.first
        write_category(self._plan, self._work, self._stage, made, batch, promise)

    def _made(self, rows: pa.Table) -> pa.Table:
        declared = [
            column.name for column in self._stage.inputs[0].columns if column.name in rows.schema.names
        ]
        given = as_read(rows.select(declared).schema)
        select = select_of(self._stage, given, self._plan)
        if select is None:
            raise PreviewError(
                f"{self._stage.name} computes something that needs Spark",
                where=f"input table {self._stage.inputs[0].name}",
                expected="columns that are picked, renamed or simply computed",
                hint=BESIDE,
            )
        return select(rows.select(declared).cast(given))

    def _schema(self) -> pa.Schema:
        if isinstance(self._input, ScribeSource):
            return Category.open(self._home, self._input.category).schema
        if self._texts is not None:
            return self._texts.schema
        return next(iter(self._covered(self._any_with_files()))).schema

    def _any_with_files(self) -> Commit:
        for number in range(self._old.next_commit() - 1, self.first - 1, -1):
            commit = self._old.commit(number)
            if commit.covers is not None and files_in(commit.covers, self._old, number):
                return commit
        raise _unknown_input(self._stage, self._old)

    def _covered(self, commit: Commit) -> Iterator[pa.Table]:
        if commit.covers is None:
            raise _unknown_input(self._stage, self._old)
        if isinstance(self._input, FilesSource):
            place = os.path.abspath(local_path(self._input.path))
            for name in files_in(commit.covers, self._old, commit.number):
                file = os.path.join(place, name)
                with _readable(file, self._stage):
                    yield from self._texts.rows(file) if self._texts else [pq.read_table(file)]
            return
        source = Category.open(self._home, self._input.category)
        start = self._read_to(commit.number - 1) if commit.number else source.first_commit()
        try:
            for one in source.commits(start, self._read_to(commit.number)):
                for segment in one.segments:
                    yield pa.Table.from_batches([source.open_segment(segment).batch])
        except LogTruncated as error:
            raise PreviewError(
                f"the rows that {self._stage.name} has read are no longer in its input",
                where=source.where,
                expected="what the running application has read, from the start of the preview on",
                hint=error.hint,
            ) from None

    def _read_to(self, number: int) -> int:
        covers = self._old.commit(number).covers
        if covers is None:
            raise _unknown_input(self._stage, self._old)
        return said.whole(said.fields(covers, ["category", "commit"])["commit"])


def _one_input(stage: SlicerStage, old: SlicerStage) -> ScribeSource | FilesSource:
    if len(stage.inputs) != 1 or len(old.inputs) != 1:
        raise PreviewError(
            f"{stage.name} reads several inputs",
            expected="one input for a side whose rows change",
            hint=BESIDE,
        )
    if stage.inputs[0].source != old.inputs[0].source:
        raise PreviewError(
            f"{stage.name} reads another source than before",
            where=f"input table {stage.inputs[0].name}",
            expected="the same rows for both versions",
            hint=f"preview the query with the source that {stage.inputs[0].name} had: what else changes is "
            "compared then, and `dovetail diff` with `--from` says what becomes of the new source. To "
            f"compare its rows as well, {BESIDE}",
        )
    source = stage.inputs[0].source
    assert not isinstance(source, KafkaSource | LakeSource), "a side reads the category of its topic"
    return source


def _texts(stage: SlicerStage, source: ScribeSource | FilesSource, plan: Plan) -> TextFiles | None:
    if not isinstance(source, FilesSource) or source.format == "parquet":
        return None
    return TextFiles(stage, source, plan.time_zone)


def _unknown_input(stage: SlicerStage, old: Category) -> PreviewError:
    return PreviewError(
        f"it is not known which input rows the commits of {old.name} have",
        where=old.where,
        expected=f"commits that say so: {stage.name} was sliced by a query of Spark, whose commits do not",
        hint=f"{BESIDE}. Changes after the join need no input: a preview of these alone works",
    )


@contextmanager
def _readable(path: str, stage: SlicerStage) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowInvalid) as error:
        raise PreviewError(
            f"a file that {stage.name} has read cannot be read again: {error}",
            where=path,
            expected="the files that it has read: the changed query takes something else from them",
            hint="put the file back, or preview a shorter time",
        ) from None
