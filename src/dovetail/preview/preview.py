"""Both versions of an application over the log that is kept: what is gained, lost and changed, and what each
takes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from dovetail.engine.measure import match_rate
from dovetail.errors import PreviewError
from dovetail.model.offset import NEVER
from dovetail.model.step_record import StepRecord
from dovetail.model.time_codes import FIRST_TIME
from dovetail.plan.physical import FileSink, Plan, ScribeSink
from dovetail.preview.compare import SAMPLES, ComparedColumns, Difference, between, compare, compared_columns
from dovetail.preview.identity import TIME_OF
from dovetail.preview.reach import Recorded, exact_from, newest_us, recorded
from dovetail.preview.replay import Replay
from dovetail.preview.rows_aside import RowsAside


@dataclass(frozen=True)
class VersionJoinFigures:
    """For one join by one version. `match_rate`: the share of left rows with a partner. `state_bytes`: the
    most that its state took."""

    match_rate: float | None
    state_bytes: int


@dataclass(frozen=True)
class VersionFigures:
    joins: Mapping[str, VersionJoinFigures]
    cpu_s: float


@dataclass(frozen=True)
class TablePreview:
    name: str
    old_rows: int
    new_rows: int
    columns: ComparedColumns
    difference: Difference


@dataclass(frozen=True)
class Preview:
    """`since_us`: rows that belong to an event time from here on are counted; NEVER if all are. `asked_us`:
    from when on they were wanted, None if all. `until_us`: how far stream time has come. `notes`: what
    is not compared."""

    since_us: int
    asked_us: int | None
    until_us: int
    steps: int
    tables: tuple[TablePreview, ...]
    old: VersionFigures
    new: VersionFigures
    notes: tuple[str, ...]

    @property
    def short(self) -> bool:
        """The log does not reach as far back as was asked."""
        return self.asked_us is not None and self.since_us > self.asked_us

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "since_us": None if self.since_us == NEVER else self.since_us}


def preview(
    home: str, running: Plan, new: Plan, since_us: int | None = None, samples: int = SAMPLES
) -> Preview:
    """`running` is what the application in `home` runs by. `since_us`: how long back, in event time; None: as
    far as it is exact."""
    known = {join.name: recorded(home, running, join) for join in running.joins}
    if not known:
        raise PreviewError(
            f"application {running.application} has no join",
            where=home,
            expected="a view that joins: its steps are what both versions are run over",
        )
    raw: frozenset[str] = frozenset()
    while True:
        with tempfile.TemporaryDirectory(prefix="dovetail-preview-") as work:
            replays, aside = _run(home, running, new, known, work, raw)
            needs = frozenset().union(*(replay.needs_spark for replay in replays))
            if needs <= raw:
                return _compared(running, new, known, replays, aside, since_us, samples)
            raw = needs  # both versions are compared at the same place


def timeline(known: Mapping[str, Recorded]) -> list[tuple[str, StepRecord]]:
    """The steps of all joins, in the order in which they were planned."""
    steps = [(join, record) for join, one in known.items() for record in one.steps]
    return sorted(steps, key=lambda step: step[1].planned_at_us)


def counted_from(running: Plan, new: Plan, known: dict[str, Recorded]) -> int:
    """From which event time on both versions are exact; NEVER if the log has lost nothing."""
    lost = max(
        exact_from(plan, known, join) for plan in (running, new) for join in plan.joins if join.name in known
    )
    return lost if lost == NEVER else lost + 1


def _run(
    home: str, running: Plan, new: Plan, known: dict[str, Recorded], work: str, raw: frozenset[str]
) -> tuple[tuple[Replay, Replay], tuple[RowsAside, RowsAside]]:
    asides = RowsAside(f"{work}/old/rows"), RowsAside(f"{work}/new/rows")
    old_one = Replay(running, running, home, f"{work}/old", known, asides[0].put, raw)
    new_one = Replay(new, running, home, f"{work}/new", known, asides[1].put, raw)
    for replay in (old_one, new_one):
        for join, record in timeline(known):
            replay.take(join, record)
        replay.finish()
    return (old_one, new_one), asides


def _compared(
    running: Plan,
    new: Plan,
    known: dict[str, Recorded],
    replays: tuple[Replay, Replay],
    asides: tuple[RowsAside, RowsAside],
    since_us: int | None,
    samples: int,
) -> Preview:
    until = max(newest_us(one.steps) for one in known.values())
    asked = None if since_us is None or until == NEVER else until - since_us
    since = max(counted_from(running, new, known), NEVER if asked is None else asked)
    if since > until:
        raise PreviewError(
            "the log that is kept is too short for a preview",
            where=f"application {running.application}",
            expected="rows of more than the windows of both versions",
            hint="wait until more rows have come, or set a longer history in the WITH of the view",
        )
    notes = dict.fromkeys(note for replay in replays for note in replay.unseen())
    tables = []
    old_tables, new_tables = asides[0].tables(), asides[1].tables()
    pairs, alone = paired_tables(running, new, set(old_tables), set(new_tables))
    for old_name, new_name in pairs:
        every = old_tables[old_name], new_tables[new_name]
        before, after = (between(rows, None if since == NEVER else since, None) for rows in every)
        compared = compared_columns(before.schema, after.schema)
        found = compare(before, after, samples)
        tables.append(TablePreview(new_name, before.num_rows, after.num_rows, compared, found))
        if since != NEVER and (without := sum(map(untimed, every))):
            notes[f"{without} rows of {new_name} have no key or no time: they are not compared"] = None
    for name, what in alone:
        notes[f"table {name} is {what}: its rows are not compared"] = None
    steps = sum(len(one.steps) for one in known.values())
    old_figures, new_figures = (_figures(replay) for replay in replays)
    return Preview(since, asked, until, steps, tuple(tables), old_figures, new_figures, tuple(notes))


def paired_tables(
    old: Plan, new: Plan, old_names: set[str], new_names: set[str]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Tables of both versions that are the same, by name or by where they are written; and those that only
    one has."""
    pairs = [(name, name) for name in sorted(old_names & new_names)]
    gone, come = sorted(old_names - new_names), sorted(new_names - old_names)
    places = {
        stage.name: stage.output for stage in old.stages if isinstance(stage.output, FileSink | ScribeSink)
    }
    for stage in new.stages:
        same = [name for name in gone if stage.name in come and places.get(name) == stage.output]
        if same:
            pairs.append((same[0], stage.name))
            gone.remove(same[0])
            come.remove(stage.name)
    if len(gone) == 1 == len(come) and not pairs:
        return [(gone[0], come[0])], []
    return pairs, [*((name, "only in the old version") for name in gone), *((name, "new") for name in come)]


def untimed(rows: pa.Table) -> int:
    times = rows.column(TIME_OF).to_numpy()
    return int((times < FIRST_TIME).sum())


def _figures(replay: Replay) -> VersionFigures:
    joins = {
        name: VersionJoinFigures(match_rate(totals), totals.get("peak_index_bytes", 0))
        for name, totals in replay.totals.items()
    }
    return VersionFigures(joins, replay.cpu_s)
