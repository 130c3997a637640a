"""Chains of joins, live and in any order, against DuckDB's join of the finished tables.

Inputs grow commit by commit, and every stage takes its steps whenever the schedule says so. Now and then
everything that is in memory goes, between any two of a stage's three verbs. At the end all is drained. No
delay is given for what a join reads from another: it goes by what that one promises.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import sqlglot

from differential.live_chains import HOWS, KINDS, Chain, draw, in_order
from dovetail.engine.copying import settle
from dovetail.joins.rows.gather import Rows
from dovetail.local.graph import Graph, Runner, StageJournal
from dovetail.log.category import Category
from dovetail.plan.physical import CategoryOutput, JoinStage, Plan, SlicerStage, Stage
from dovetail.plan.projection import plain_projection
from dovetail.plan.promises import origin_column
from dovetail.pql.compile import compile_pql, plans_of, trace
from dovetail.slicing.write_rows import bucket_of, time_of
from laws.effort import THOROUGH, some


@pytest.fixture(autouse=True)
def expressions_by_duckdb(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What only Spark computes in the product, DuckDB computes here."""
    with duckdb.connect(
        config={"threads": 1, "autoinstall_known_extensions": False, "autoload_known_extensions": False}
    ) as db:
        plain = cache(plain_projection)

        def selected(self: Runner, rows: pa.Table) -> pa.Table:
            names = plain(self.stage)
            if names is not None:
                return rows.select(list(names.values())).rename_columns(list(names))
            joins = isinstance(self.stage, JoinStage)
            source = self.stage.source_name if joins else self.stage.inputs[0].name
            db.register(source, _with_times(rows, None))
            views = [view for view in self.stage.views if view.name != source]
            for view in views:
                db.execute(f"CREATE OR REPLACE TEMP VIEW {view.name} AS {_sql(view.sql)}")
            found = _with_times(db.sql(_sql(self.stage.select)).to_arrow_table(), "UTC")
            for view in views:
                db.execute(f"DROP VIEW {view.name}")
            db.unregister(source)
            return found

        monkeypatch.setattr(Runner, "selected", selected)
        yield


def _with_times(rows: pa.Table, zone: str | None) -> pa.Table:
    """DuckDB computes with times that have no zone."""
    schema = pa.schema(
        [
            (field.name, pa.timestamp("us", zone) if pa.types.is_timestamp(field.type) else field.type)
            for field in rows.schema
        ]
    )
    return rows.cast(schema)


@cache
def _sql(text: str) -> str:
    return sqlglot.transpile(text, read="spark", write="duckdb")[0]


class Live:
    """A graph over inputs that grow, which may die at any time."""

    def __init__(self, chain: Chain, plan: Plan, folder: Path) -> None:
        self.chain, self.plan, self.folder = chain, plan, folder
        self.rng = Random(chain.seed)
        self.journals: dict[str, StageJournal] = {}
        self.crashes = self.rng.choice([0.0, 0.05, 0.3])
        self.categories = {
            name: Category.create(str(folder / "home"), name, commits[0].schema, buckets=1)
            for name, commits in chain.inputs.items()
        }
        self.waiting = {name: list(commits) for name, commits in chain.inputs.items()}
        self.graph = self.born()

    def born(self) -> Graph:
        tasks = self.rng.choice([1, 1, 2])
        home, work = str(self.folder / "home"), str(self.folder / "work")
        return Graph(self.plan, home, work, tasks=tasks, journals=self.journals)

    def perhaps_dies(self) -> bool:
        if self.rng.random() >= self.crashes:
            return False
        if self.rng.random() < 0.3:  # it comes back on another machine
            settle()
            shutil.rmtree(self.folder / "work/index", ignore_errors=True)
        self.graph = self.born()
        return True

    def arrive(self, name: str) -> None:
        batches = self.waiting[name].pop(0).combine_chunks().to_batches()
        category = self.categories[name]
        category.append(category.write_segments(batches, bucket_of(None, 1), time_of("t")))

    def step(self, name: str) -> None:
        limits: dict[str, Any] = {"most": self.rng.choice([1, 3])}
        if self.graph.runners[name].plan(**limits) and not self.perhaps_dies():
            self.graph.runners[name].run()
            if not self.perhaps_dies():
                self.graph.runners[name].settle()
                self.perhaps_dies()

    def run(self) -> pa.Table:
        busy = len(self.graph.runners) * self.rng.choice([0.5, 2, 4])
        for name in self.waiting:
            self.arrive(name)
        while any(self.waiting.values()):
            if self.rng.random() * busy < 1:
                self.arrive(self.rng.choice([name for name, commits in self.waiting.items() if commits]))
            else:
                self.step(self.rng.choice(list(self.graph.runners)))
        for _ in range(self.rng.choice([0, 20])):
            self.step(self.rng.choice(list(self.graph.runners)))
        self.graph.drain()
        settle()
        (table,) = self.graph.tables().values()
        return table


def nothing_below_a_promise(category: Category, output: CategoryOutput) -> None:
    """No row is below what an earlier commit promises."""
    floors: dict[str, int] = {}
    for number in range(category.first_commit(), category.next_commit()):
        commit = category.commit(number)
        rows = Rows(category, number, number + 1)
        batch = rows.at(rows.places(np.arange(commit.first_row, commit.first_row + commit.rows)))
        for column in output.promises:
            times = batch.take(column.name).cast(pa.int64())
            lowest = pc.min(pc.filter(times, pc.greater(times, -(2**62)))).as_py()  # codes are below
            if lowest is not None and column.name in floors:
                assert lowest >= floors[column.name], f"{category.name}.{column.name} in commit {number}"
            promised = commit.promised(column.name)
            if promised is not None:
                floors[column.name] = max(promised, floors.get(column.name, promised))


def promised(chain: Chain, side: str) -> bool:
    """Whether anybody can promise anything about the time of a side, by the plan in which every join has a
    category of its own: its slicer passes on what the category promises about the column."""
    plans = plans_of(trace(chain.pql))
    apart = max(plans, key=lambda plan: len(plan.stages))
    writers = {getattr(stage.output, "category", None): stage for stage in apart.stages}
    slicer = writers[side]
    assert isinstance(slicer, SlicerStage)
    assert isinstance(slicer.output, CategoryOutput)
    terms = [term for column in slicer.output.promises if column.name == "_time" for term in column.terms]
    origins = [origin_column(slicer, term.origin) for term in terms]
    return bool(origins) and all(_promises(writers.get(category), column) for category, column in origins)


def _promises(writer: Stage | None, column: str) -> bool:
    """A category that nobody here writes may promise anything."""
    if writer is None:
        return True
    assert isinstance(writer.output, CategoryOutput)
    return column in [promise.name for promise in writer.output.promises]


def check(chain: Chain, folder: Path) -> None:
    plan = compile_pql(chain.pql)
    for join, stage in zip(plan.joins, chain.stages, strict=True):
        if stage.left.max_delay_s is None:
            assert join.settings.left_inherits == promised(chain, join.left), f"{join.name} left\n{chain!r}"
        if stage.right.max_delay_s is None:
            assert join.settings.right_inherits == promised(chain, join.right), (
                f"{join.name} right\n{chain!r}"
            )
    live = Live(chain, plan, folder)
    table = live.run()
    for stage in plan.stages:
        if isinstance(stage.output, CategoryOutput):
            nothing_below_a_promise(Category.open(live.graph.work, stage.output.category), stage.output)
    found = in_order(list(zip(*(column.to_pylist() for column in table.columns), strict=True)))
    assert found == chain.rows, repr(chain)


@pytest.mark.parametrize("apart", range(len(KINDS)) if THOROUGH else (1, 3))
@pytest.mark.parametrize("upstream", KINDS)
def test_every_kind_above_every_kind(upstream: str, apart: int, tmp_path: Path) -> None:
    number = KINDS.index(upstream)
    below = (number + apart) % len(KINDS)
    check(draw(100 * number + below, 2, (upstream, KINDS[below])), tmp_path)


@pytest.mark.parametrize("apart", some(range(0, len(HOWS), 2), 2))
@pytest.mark.parametrize("upstream", HOWS)
def test_every_type_upstream_and_downstream(upstream: str, apart: int, tmp_path: Path) -> None:
    number = HOWS.index(upstream)
    downstream = HOWS[(number + apart) % len(HOWS)]
    check(draw(1000 + 100 * number + apart, 2, hows=(upstream, downstream)), tmp_path)


@pytest.mark.parametrize("middle", KINDS)
@pytest.mark.parametrize("seed", some(range(2), 1))
def test_three_joins(seed: int, middle: str, tmp_path: Path) -> None:
    check(draw(3000 + 100 * seed + KINDS.index(middle), 3, ("", middle)), tmp_path)


@pytest.mark.parametrize("seed", some(range(5000, 5005), 2))
def test_five_joins(seed: int, tmp_path: Path) -> None:
    check(draw(seed, 5), tmp_path)
