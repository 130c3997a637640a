"""Runs a whole application in this process, without Spark or Java: for tests and notebooks.

    import dovetail.local

    tables = dovetail.local.run("clicks.pql", home="/data/dovetail")
    tables["clicked"].to_pandas()

The planner, the coordinator and the steps are those that run on Spark, over a log in a temporary home. At the
end every window is closed. The inputs are only read: the categories of `home` commit by commit, Parquet files
one by one.

Expressions, filters and aggregates need Spark. A query that only picks and renames columns before and after
its joins runs as a whole. Where only what follows a join is computed, `raw=True` gives the rows of the join
itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.errors import InputError, PlanError

if TYPE_CHECKING:
    import pyarrow as pa

    from dovetail.engine.planner import HostClock
    from dovetail.log.category import Category
    from dovetail.model.validity import Validity
    from dovetail.plan.physical import CategoryOutput, InputTable, JoinStage, Plan, SlicerStage, Stage


def run(
    app: str | Path,
    home: str | Path | None = None,
    *,
    raw: bool = False,
    tasks: int = 1,
    clock: HostClock | None = None,
) -> dict[str, pa.Table]:
    """Join everything that the inputs have, and return the resulting tables by name. A join that feeds one
    table has the name of its view; any other table has its own name.

    `app`: PQL text, or the path of a PQL file. `home`: where its categories are, the current directory if not
    given. `raw`: return the rows of each join, with the columns that it takes from both sides, before the
    query computes anything from them. `tasks`: how many tasks each join has; they run one after another.
    """
    from dovetail.engine.planner import HOST_CLOCK
    from dovetail.pql.compile import compile_pql

    text, name = _text(app)
    plan = compile_pql(text, name=name)
    with tempfile.TemporaryDirectory(prefix="dovetail-local-") as work:
        return _Run(plan, str(home or "."), work, raw, tasks, clock or HOST_CLOCK).tables()


class _Run:
    def __init__(self, plan: Plan, home: str, work: str, raw: bool, tasks: int, clock: HostClock) -> None:
        self.plan, self.home, self.work = plan, home, work
        self.raw, self.tasks, self.clock = raw, tasks, clock

    def tables(self) -> dict[str, pa.Table]:
        import pyarrow as pa

        from dovetail.engine.copying import settle
        from dovetail.plan.physical import CategoryOutput, JoinStage, WindowStage

        made: dict[str, pa.Table] = {}
        skipped: set[str | None] = set()
        try:
            for stage in self.plan.stages:
                if isinstance(stage, JoinStage):
                    joined = self._joined(stage)
                    if self.raw:
                        made[stage.name] = joined
                        continue
                    rows = [self._renamed(stage, joined)]
                elif isinstance(stage, WindowStage):
                    if not self.raw:
                        raise _needs_spark(stage.table, "an aggregate")
                    skipped.add(_written(stage))
                    continue
                elif any(getattr(table.source, "category", None) in skipped for table in stage.inputs):
                    continue
                else:
                    rows = [self._renamed(stage, part) for part in self._read(*stage.inputs)]
                if isinstance(stage.output, CategoryOutput):
                    self._write(stage.output, rows)
                else:
                    made[stage.name] = pa.concat_tables(rows)
        finally:
            settle()  # a thread may still copy snapshots into the temporary home, which is about to go
        return made

    def _joined(self, stage: JoinStage) -> pa.Table:
        import pyarrow as pa

        from dovetail.engine.driver import JoinDriver
        from dovetail.plan.configure import join_config

        config = join_config(
            self.plan, stage, self.work, tasks=self.tasks, index_dir=f"{self.work}/index", drain=True
        )
        driver = JoinDriver(config, self.clock)
        return pa.Table.from_batches(driver.drain(), driver.schema)

    def _write(self, output: CategoryOutput, tables: list[pa.Table]) -> None:
        """One commit per table."""
        import pyarrow as pa

        from dovetail.log.category import Category
        from dovetail.slicing.placement import HASH, TIME
        from dovetail.slicing.sides import write_side
        from dovetail.slicing.write_rows import bucket_of, sliced_batch, time_of

        category: Category | None = None
        for rows in tables:
            if output.time is None:
                batches = rows.combine_chunks().to_batches()
                schema = rows.schema
            else:
                kept = [field for field in rows.schema if field.name != output.time]
                hashed = [pa.field(HASH, pa.int64(), False)] if output.keys else []
                schema = pa.schema([*hashed, pa.field(TIME, pa.int64(), False), *kept])
                columns = [(field.name, field.name) for field in kept]
                batches = [sliced_batch(rows, columns, output.keys, output.time, schema)]
            if category is None:
                category = Category.create(self.work, output.category, schema, buckets=output.buckets)
            if output.time is None:
                infos = category.write_segments(batches, bucket_of(None, category.buckets), time_of(None))
            else:
                infos = list(write_side(category, batches, self._validity(output)).segments)
            category.append(infos)
        if category is None:
            raise InputError(
                "an input has no rows, so the types of its columns are not known",
                where=f"category {output.category}",
                expected="at least one commit or file",
            )

    def _validity(self, side: CategoryOutput) -> Validity:
        """Which event times the join of a side believes."""
        joins = (join for join in self.plan.joins if side.category in (join.left, join.right))
        return next(joins).settings.validity

    def _read(self, table: InputTable) -> Iterator[pa.Table]:
        import pyarrow.parquet as pq

        from dovetail.log.category import Category
        from dovetail.plan.physical import ScribeSource
        from dovetail.slicing.input_files import input_files, local_path

        if isinstance(table.source, ScribeSource):
            inside = any(_written(stage) == table.source.category for stage in self.plan.stages)
            yield from _commits(Category.open(self.work if inside else self.home, table.source.category))
        elif table.source.format == "parquet":
            for file in input_files(table.source.path, table.source.format):
                yield pq.read_table(local_path(file))
        else:
            raise _needs_spark(table.name, f"{table.source.format} files")

    def _renamed(self, stage: SlicerStage | JoinStage, rows: pa.Table) -> pa.Table:
        from dovetail.plan.projection import plain_projection

        found = plain_projection(stage)
        if found is None:
            raise _needs_spark(stage.name, "an expression, a filter or an aggregate")
        return rows.select(list(found.values())).rename_columns(list(found))


def _commits(category: Category) -> Iterator[pa.Table]:
    import numpy as np
    import pyarrow as pa

    from dovetail.joins.rows.gather import Rows

    for number in range(category.first_commit(), category.next_commit()):
        commit = category.commit(number)
        rows = Rows(category, number, number + 1)
        batch = rows.at(rows.places(np.arange(commit.first_row, commit.first_row + commit.rows)))
        yield pa.table([batch.take(name) for name in category.schema.names], category.schema)


def _written(stage: Stage) -> str | None:
    from dovetail.plan.build import written_category

    return written_category(stage)


def _text(app: str | Path) -> tuple[str, str]:
    """PQL text, and what errors call it. A string without a semicolon has no statement, so it is a path."""
    if isinstance(app, Path) or ";" not in app:
        try:
            return Path(app).read_text(encoding="utf-8-sig"), str(app)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"the query cannot be read: {error}",
                where=str(app),
                expected="a file with PQL, or PQL text with its semicolons",
            ) from error
    return app, "<string>"


def _needs_spark(name: str, what: str) -> PlanError:
    return PlanError(
        f"{what} needs Spark",
        where=f"stage {name}",
        expected="columns that are picked and renamed, from categories or Parquet files",
        hint="`dovetail run` evaluates everything; raw=True gives the joined rows as they leave the join",
    )
