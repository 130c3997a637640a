"""The commits of a category, with what a table has for each of their rows, as an intake.

    look    commits that are new
    take    some of them, once the table in memory is fresh enough
    write   rows looked up in it, as segments

Law: each row is looked up once. The commit that holds the result says which version of the table that was,
and since when it was known. All downstream reads get that result: a step that runs again after a crash sees
the same rows, whatever has happened to the table. A part that was not committed is looked up again, and its
first answer was never used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from dovetail.errors import InputError, Unreachable
from dovetail.log.category import Category
from dovetail.log.source_progress import Waiting
from dovetail.lookup.held_table import HeldTable, HeldVersion
from dovetail.slicing.category_intake import CategoryIntake
from dovetail.slicing.covered_commits import LOOKED_UP
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.intake import Part
from dovetail.slicing.placement import Placement
from dovetail.slicing.sides import Written, write_rows

PATIENCE_S = 120.0
"""How long a run that ends by itself waits for the table."""
ASK_EVERY_S = 1.0
"""How often a table that is away is asked for."""


class Enriching:
    """Rows of a stream as rows of a category, with the table's columns. `picked`: the category's column for
    each of the stream's."""

    def __init__(self, category: Category, picked: Mapping[str, str]) -> None:
        self._category, self._picked = category, picked
        schema = category.schema
        time_column = next((one.name for one in schema if pa.types.is_timestamp(one.type)), None)
        self._placement = Placement(None, time_column)
        self.held: HeldVersion | None = None

    def write_tables(self, tables: Iterable[pa.Table]) -> Written:
        assert self.held is not None, "rows are looked up after the table is read"
        schema = self._category.schema
        made = []
        for rows in tables:
            found = self.held.rows.add_to(rows, self._picked).select(schema.names).cast(schema)
            made += found.combine_chunks().to_batches()
        return write_rows(self._category, made, self._placement)


class LookupIntake(CategoryIntake):
    """`finite`: the run ends by itself, and does not wait for a table for ever."""

    def __init__(
        self,
        category: Category,
        slicer: Slicer,
        enriching: Enriching,
        held: HeldTable,
        name: str,
        *,
        finite: bool = False,
        **how: Any,
    ) -> None:
        super().__init__(category, slicer, enriching, **how)
        self._enriching, self._held, self._name, self._finite = enriching, held, name, finite
        self._trouble: str | None = None
        self._asked_s = self._reached_s = self._clock()

    def look(self) -> bool:
        super().look()
        if super().more():
            self._freshen()
            if not self.more():
                self.settled_us = None  # its rows are there, and their answers are not
        return self.more()

    def more(self) -> bool:
        return super().more() and self._trouble is None and self._enriching.held is not None

    @property
    def exhausted(self) -> bool:
        return not super().more()

    def take(self) -> Part:
        part = super().take()
        held = self._enriching.held
        assert held is not None
        covers = {**part.covers, LOOKED_UP: held.note(self._name)}
        return Part(covers, part.write, part.promise)

    def appended(self, part: Part) -> None:
        super().appended(part)
        if super().more():  # the next part is taken without another look
            self._freshen()

    def waiting(self) -> Waiting:
        return super().waiting()._replace(trouble=self._trouble)

    def _freshen(self) -> None:
        now_s = self._clock()
        if self._trouble is not None and now_s - self._asked_s < ASK_EVERY_S:
            return
        self._asked_s = now_s
        try:
            self._enriching.held = self._held.now()
            self._trouble, self._reached_s = None, now_s
        except Unreachable as error:
            self._trouble = f"waiting for {self._held.place}: {error.what}"
            if self._finite and now_s - self._reached_s > PATIENCE_S:
                raise InputError(
                    self._trouble,
                    where=f"lookup table {self._name}",
                    expected=f"an answer within {PATIENCE_S:.0f} s, for a run that ends by itself",
                    hint="start the run again when the table is back; nothing is lost",
                ) from None
