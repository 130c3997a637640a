"""Law: what an application has seen belongs to one application, and its query changes only by the rules.

`<home>/apps/<application>/` holds the plan it was started with, Spark's checkpoints and the join state. A
start with another query is a change: the rules say what becomes of the state, and refuse what would read it
wrongly.

    consider    what a start with this query would mean; nothing is touched
    take_over   the query counts from now on: a version is written, then `application.json` names it
"""

from __future__ import annotations

import getpass
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from dovetail.changes.afresh import begun_afresh, with_new_places
from dovetail.changes.between import Beginning, NewSource
from dovetail.changes.compare import closest
from dovetail.changes.costs import InHome
from dovetail.changes.made_from import Origin, require_known
from dovetail.changes.positions import Position, begin_at, begin_taken_in, key_of
from dovetail.changes.promises import older_than_promised
from dovetail.changes.read_elsewhere import lost_to_readers
from dovetail.changes.rules.sources import is_taken_in, same_inputs, swapped
from dovetail.changes.verdict import Change, Verdict, strictest
from dovetail.changes.versions import Version, read_version, version_numbers, version_path, write_version
from dovetail.engine.queries import remember
from dovetail.errors import DovetailError, SettingError, StateError
from dovetail.log.category import Category, list_categories
from dovetail.log.homes.filesystem import Store, open_store
from dovetail.plan.application_file import Current, application_path, decode, encode
from dovetail.plan.configure import join_config
from dovetail.plan.physical import JoinStage, Plan, SlicerStage, Stage
from dovetail.plan.statements import Program
from dovetail.pql.parser import parse
from dovetail.slicing.readings import left_before


@dataclass(frozen=True)
class Takeover:
    """A start of a query. `before`: what the application runs by now, None if nothing binds it. `plan`:
    what it would run by, with what it takes over from the plan before. `positions`: by input, where a new
    source begins. `origin`: the file that the query comes from."""

    home: str
    plan: Plan
    text: str | None
    before: Current | None
    changes: tuple[Change, ...]
    positions: Mapping[str, Position] = field(default_factory=dict)
    origin: Origin | None = None

    @property
    def verdict(self) -> Verdict | None:
        return strictest(self.changes)

    @property
    def cuts(self) -> bool:
        """Something that was seen, or written, is affected: the old query has to come to rest first."""
        return self.verdict not in (None, "next step")


def consider(
    home: str,
    plans: Sequence[Plan],
    program: Program | None = None,
    *,
    parent: int | None = None,
    origin: Origin | None = None,
    positions: Mapping[str, Position] | None = None,
    reslice: bool = False,
) -> Takeover:
    """What a start with one of several plans for the same query would mean. `parent`: the version that the
    query was made from; if the application has changed since, that is an error. Without it, its file tells:
    see `made_from`. `positions`, `origin`: see `Takeover`. `reslice`: see `Between`."""
    first, text = plans[0], program.source.text if program is not None else None
    before = bound(home, first.application)
    if parent is not None and parent != (found := before.version if before else 0):
        raise StateError(
            f"application {first.application} is at version {found}, not at version {parent}",
            where=open_store(home).root,
            expected="no newer version",
            hint=f"see what changed with `dovetail versions {first.application}`, put that into your "
            "query, and "
            f"start it with --parent {found}",
        )
    if before is None:
        _require_asked(positions or {}, set(), {})
        return Takeover(home, first, text, None, (), origin=origin)
    old_text = program_of(home, first.application, before.version)
    given = positions or {}
    plan, changes = changes_to(home, before, plans, old_text, program, given, reslice=reslice)
    if parent is None and origin is not None and changes:
        require_known(home, first.application, before.version, origin, author(), changes, text)
    afresh = begun_afresh(changes)
    return Takeover(home, carried(before.plan, plan, afresh), text, before, tuple(changes), given, origin)


def changes_to(
    home: str,
    before: Current,
    plans: Sequence[Plan],
    old_text: Program | None,
    new_text: Program | None,
    positions: Mapping[str, Position],
    *,
    reslice: bool = False,
) -> tuple[Plan, list[Change]]:
    """The plan that changes least, and what it changes. A new source begins as said, or where it was left if
    the stage has had it before."""
    application, reading = before.plan.application, {s.name: s.reading for s in before.plan.slicers}
    asked: set[str] = set()

    def begins(stage: SlicerStage, new: NewSource) -> Beginning | None:
        asked.add(new.name.lower())
        position, source = positions.get(new.name.lower()), new.table.source
        if new.intake is not None:
            if position is not None:
                begin_at(home, new.intake.inputs[0].source, position)  # raises: it is said in the query
            words = begin_taken_in(home, application, new.intake)
            return None if words is None else Beginning(words)
        if position is not None:
            return Beginning(str(position), begin_at(home, source, position))
        key, last = key_of(source), reading.get(stage.name, 0)
        known = left_before(home, application, stage.name, key, last)
        return None if known is None else Beginning("what has come since it was left", known.standing)

    costs = InHome(home, before.plan)
    plan, changes = closest(before.plan, plans, old_text, new_text, begins, costs, reslice)
    _require_asked(positions, asked, _said_before(home, before))
    said = [*older_than_promised(home, before.plan, plan), *lost_to_readers(home, before.plan, plan)]
    return plan, [*changes, *said]


def _said_before(home: str, before: Current) -> Mapping[str, Position]:
    """Where inputs of the version that counts were to begin, as far as its file can be read."""
    try:
        return read_version(home, before.plan.application, before.version).begins
    except DovetailError:
        return {}


def _require_asked(
    positions: Mapping[str, Position], asked: set[str], said_before: Mapping[str, Position]
) -> None:
    """A command that is given again says again what has taken effect: nothing is left to do for it."""
    for table in sorted(positions.keys() - asked):
        if positions[table] == said_before.get(table):
            continue
        raise SettingError(
            f"input {table}: its source has not changed",
            where=f"--from {table}=",
            expected="an input whose source changes: others go on where they are",
        )


def require(takeover: Takeover) -> None:
    """Raise an error that explains every change that is refused."""
    refused = [change for change in takeover.changes if change.verdict == "refused"]
    if not refused:
        return
    said = "\n            ".join(f"{change.part}: {change.what}" for change in refused)
    why = "; ".join(dict.fromkeys(change.flight for change in refused if change.flight))
    raise StateError(
        f"application {takeover.plan.application} cannot go on with this query: {said}",
        where=next((change.place for change in refused if change.place), open_store(takeover.home).root),
        expected=f"a query that can read what the old one has seen{f': {why}' if why else ''}",
        hint="; or ".join(dict.fromkeys(change.instead for change in refused if change.instead)),
    )


def take_over(takeover: Takeover, took_over: Mapping[str, int] | None = None) -> int:
    """Let the query count; gives its version. The application must be held, and at rest where the takeover
    cuts."""
    require(takeover)
    home, plan, before = takeover.home, takeover.plan, takeover.before
    store, path = open_store(home), application_path(plan.application)
    store.make_folder(f"apps/{plan.application}")
    if before is None:
        _forget_categories(home, plan.application)
        first = _version(takeover, 1, None, {})
        if not write_version(home, first):  # of a plan that never ran: it bound nobody
            store.replace(first.path, first.encode())
        store.replace(path, encode(plan, 1))
        return 1
    if not takeover.changes:
        if (
            store.size(version_path(plan.application, before.version)) is None
        ):  # started before versions were kept
            write_version(home, _version(takeover, before.version, None, {}))
        if plan != before.plan:
            store.replace(path, encode(plan, before.version))
        return before.version
    for stage in before.plan.joins:  # a release before this one may not have written down what it ran
        remember(join_config(before.plan, stage, home, tasks=1))
    number = max(before.version, *version_numbers(home, plan.application), 0) + 1
    while not write_version(home, _version(takeover, number, before.version, took_over or {})):
        number += 1
    store.replace(path, encode(plan, number))
    return number


def carried(old: Plan, new: Plan, afresh: Set[str] = frozenset()) -> Plan:
    """The new plan with what its stages take over from those before: a join whose meaning changes has one
    more meaning behind it, and a slicer with another source one more reading. `afresh`: the joins that begin
    afresh."""
    before = {stage.name: stage for stage in old.stages}

    def follow(stage: Stage) -> Stage:
        known = before.get(stage.name)
        if isinstance(stage, JoinStage) and isinstance(known, JoinStage):
            meaning = known.query + (known.join_kind != stage.join_kind)
            came = known.begun, known.filled, known.whole
            return replace(stage, query=meaning, begun=came[0], filled=came[1], whole=came[2])
        if isinstance(stage, SlicerStage) and isinstance(known, SlicerStage):
            pairs = same_inputs(known, stage)
            swaps = any(swapped(new.application, *pair) for pair in pairs)
            # How far a topic was taken in, its category says.
            taken_in = any(is_taken_in(now.source) for _, now in pairs)
            return replace(stage, reading=known.reading + (swaps and not taken_in))
        return stage

    return with_new_places(old, replace(new, stages=tuple(follow(stage) for stage in new.stages)), afresh)


def _version(takeover: Takeover, number: int, parent: int | None, took_over: Mapping[str, int]) -> Version:
    return Version(
        application=takeover.plan.application,
        number=number,
        parent=parent,
        plan=takeover.plan,
        text=takeover.text,
        author=author(),
        made_at_us=time.time_ns() // 1000,
        changes=takeover.changes,
        took_over=took_over,
        origin=takeover.origin.name if takeover.origin is not None else None,
        begins=takeover.positions,
    )


def author() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def bound(home: str, application: str) -> Current | None:
    """What the application runs by, if it has ever run. Before that a plan binds nobody."""
    store, path = open_store(home), application_path(application)
    if not store.size(path) or not has_run(store, application):
        return None
    return decode(store.read(path), where=f"{store.root}/{path}")


def has_run(store: Store, application: str) -> bool:
    """A query or a slicer of the application was started: there may be state."""
    folder = f"apps/{application}"
    return bool(store.folders(f"{folder}/checkpoints") or store.files(f"{folder}/slicers"))


def program_of(home: str, application: str, version: int) -> Program | None:
    """The query of a version as it was written, to point into. Without it changes are found all the same."""
    try:
        text = read_version(home, application, version).text
        return None if text is None else parse(text, name=f"version {version}")
    except DovetailError:
        return None


def _forget_categories(home: str, application: str) -> None:
    """Let the intermediate categories of a plan that never ran be made again, with other columns."""
    for name in list_categories(home):
        category = Category.open(home, name)
        if name.startswith(f"{application}.") and category.next_commit() == 0:
            category.forget()
