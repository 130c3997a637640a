"""A process that dies while an input gets another source: each commit of both enters the log once, and none
that is not wanted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from dovetail.changes.closing import Closing, read_closing, write_closing
from dovetail.changes.positions import Position, positions_in
from dovetail.changes.takeover import consider, take_over
from dovetail.changes.versions import read_version
from dovetail.log import history
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.plan.application_file import Current, read_current
from dovetail.plan.physical import CategoryOutput, JoinStage, Plan, Stage, filed_under
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse
from dovetail.slicing.category_intake import CategoryIntake
from dovetail.slicing.covered_files import Slicer
from dovetail.slicing.readings import read_reading
from dovetail.slicing.resident import ResidentSlicer
from dovetail.slicing.standing import CommitsRead
from dovetail.spark.checkpoints import Checkpoint
from dovetail.spark.new_readings import note_readings
from dovetail.spark.standings import commits_before
from dying import crash_everywhere
from unit.slicing.test_resident import SIDE, STORED, Chain, rows, slice_of

QUERY = """CREATE APPLICATION app;
CREATE INPUT TABLE a (at TIMESTAMP, id BIGINT, note STRING) FROM SCRIBE("{source}");
CREATE INPUT TABLE b (at TIMESTAMP, id BIGINT) FROM SCRIBE("right");
CREATE VIEW v AS SELECT a.id AS id, a.note AS note FROM a JOIN b ON a.id = b.id
  AND b.at BETWEEN a.at - INTERVAL '1 minute' AND a.at;
CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;
"""


@cache
def plan_with(source: str) -> Plan:
    return plans_of(trace_program(parse(QUERY.format(source=source))))[0]


class Application(Chain):
    """For an application only the slicer of the left side: a thread, as `dovetail run` has it."""

    def __init__(self, root: Path) -> None:
        history.forget()
        super().__init__(root)
        self.sources = {name: Category.create(self.home, name, STORED, buckets=1) for name in ("old", "new")}

    def feed(self, name: str, first: int) -> None:
        self.source = self.sources[name]
        self.append(rows(first))

    def start(self, plan: Plan) -> None:
        take_over(consider(self.home, [plan]))
        self.category = Category.create(self.home, "app.left", SIDE, buckets=4, role="side")
        store = open_store(self.home)  # as a run would
        store.make_folder("apps/app/checkpoints/v/offsets")
        store.replace("apps/app/checkpoints/v/offsets/0", b"planned")

    def run(self) -> None:
        """What is there, by the plan that counts."""
        [stage, *_] = read_current(self.home, "app").plan.slicers
        source = stage.inputs[0].source.category  # type: ignore[union-attr]
        slicer = Slicer("app", "v.left", source, stage.reading)
        checkpoint = Checkpoint(self.home, "app", filed_under(stage))
        category = self.category

        def intake() -> CategoryIntake:
            before = lambda: commits_before(checkpoint, category, slicer)  # noqa: E731
            return CategoryIntake(category, slicer, slice_of(category), before=before)

        thread = ResidentSlicer(category, slicer, intake, finite=True)
        thread.run()
        if thread.error is not None:
            raise thread.error

    def change(self, source: str, *positions: str) -> None:
        takeover = consider(self.home, [plan_with(source)], positions=positions_in(positions))
        assert takeover.before is not None
        note_readings(replace(takeover, before=self.as_written(takeover.before)))
        take_over(takeover)

    def as_written(self, before: Current) -> Current:
        """The slicers of this test write to a category of its own."""

        def there(stage: Stage) -> Stage:
            if isinstance(stage.output, CategoryOutput) and stage.name == "v.left":
                return replace(stage, output=replace(stage.output, category="app.left"))
            return replace(stage, left="app.left") if isinstance(stage, JoinStage) else stage

        return before._replace(plan=replace(before.plan, stages=tuple(map(there, before.plan.stages))))


def prepared(home: str) -> Application:
    application = Application(Path(home))
    application.feed("old", 0)
    application.feed("new", 100)
    application.start(plan_with("old"))
    application.run()
    application.feed("old", 3)  # not read by the old query: left out, until it comes back
    return application


def test_a_crash_anywhere_in_the_change(tmp_path: Path) -> None:
    def change(application: Application) -> None:
        application.change("new", "a=latest")
        application.run()

    def check(home: str) -> None:
        application = Application(Path(home))
        [stage, *_] = read_current(application.home, "app").plan.slicers
        if stage.reading == 1:
            application.change("new", "a=latest")
        application.feed("new", 200)
        application.run()
        assert application.ids() == [0, 1, 2, 200, 201, 202]

    assert crash_everywhere(tmp_path, prepared, change, check) > 20


def test_a_crash_anywhere_on_the_way_back(tmp_path: Path) -> None:
    def changed(home: str) -> Application:
        application = prepared(home)
        application.change("new", "a=earliest")
        application.run()
        return application

    def check(home: str) -> None:
        application = Application(Path(home))
        [stage, *_] = read_current(application.home, "app").plan.slicers
        if stage.reading == 2:
            application.change("old")
        application.run()
        assert application.ids() == [*range(6), 100, 101, 102]

    def back(application: Application) -> None:
        application.change("old")
        application.run()

    assert crash_everywhere(tmp_path, changed, back, check) > 20


def test_a_crash_anywhere_before_a_join_begins_afresh(tmp_path: Path) -> None:
    """Either the old query counts, or the new one does, and it is known what the old one still holds and
    where the new one begins."""
    other = QUERY.format(source="old").replace("a.id = b.id", "a.id + 1 = b.id")
    [afresh, *_] = plans_of(trace_program(parse(other)))

    def begin(application: Application) -> None:
        takeover = consider(application.home, [afresh])
        assert takeover.verdict == "afresh"
        assert takeover.before is not None
        note_readings(replace(takeover, before=application.as_written(takeover.before)))
        closing = Closing(takeover.before.version, takeover.before.plan, ("v",))
        write_closing(application.home, closing)
        take_over(takeover)

    def prepare(home: str) -> Application:
        Category.create(str(Path(home) / "home"), "right", STORED, buckets=1)
        application = prepared(home)
        Category.create(application.home, "app.v.right", SIDE, buckets=4, role="side")
        return application

    def check(home: str) -> None:
        application = Application(Path(home))
        if read_current(application.home, "app").version == 1:
            begin(application)
        plan, version = read_current(application.home, "app")
        closing = read_closing(application.home, "app")
        assert closing is not None
        assert closing.version == read_version(application.home, "app", version).parent == 1
        assert [join.name for join in closing.plan.joins] == list(closing.joins)
        left, right = (read_reading(application.home, "app", stage.name, 2) for stage in plan.slicers)
        assert left is not None
        assert right is not None
        assert left.standing == CommitsRead("old", 1), "the other one was not taken by the old query"
        assert right.standing == CommitsRead("right", 0)

    assert crash_everywhere(tmp_path, prepare, begin, check) > 15


def test_positions() -> None:
    said = ["A=earliest", "b=latest", "c=17", "d=2026-11-17T10:00:00", "e=2026-11-17T11:00:00+01:00"]
    at = Position("time", 1_794_909_600_000_000)
    assert positions_in(said) == {
        "a": Position("earliest"),
        "b": Position("latest"),
        "c": Position("commit", 17),
        "d": at,
        "e": at,
    }
