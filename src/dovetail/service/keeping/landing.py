"""Checks before a query counts: each a rule with a name, asked in order. Nothing is touched.

    reaches     it reads and writes nothing, and runs no code, beyond what its owner may
    compiles    the text is a query, and its inputs have the columns that it names
    named       it belongs to the application that it is meant for
    continues   the application can go on with it, by the rules of changes
    alone       no other application writes where it writes
    writable    its folders can be written
    read        nobody who reads its output loses a column
    in_log      the log still has the rows that the application goes on from
    fits        what it will need, by an estimate, is within its owner's quota and the machine

A query that fails a rule is refused. All rules are checked, so that one look shows everything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dovetail.changes.leftovers import own_categories
from dovetail.engine.masters import is_cluster
from dovetail.errors import DovetailError, InputError, PlanError, StateError
from dovetail.log.category import Category, list_categories
from dovetail.plan.application_file import list_applications, read_application
from dovetail.plan.physical import FileSink, Output, Plan, ScribeSink, ScribeSource
from dovetail.plan.statements import Program
from dovetail.service.keeping.estimate import ResourceEstimate, estimate
from dovetail.service.keeping.presence import master_of
from dovetail.service.keeping.quotas import EVERYBODY, QuotaError, Usage, allowed, exceeded
from dovetail.service.keeping.usage import usages
from dovetail.service.keeping.wanted import find_wanted

MOST_TEXT = 1 << 20
"""No query that a person wrote is longer."""
NOBODY = "nobody"
"""The owner of a query that was deployed without one."""


@dataclass(frozen=True)
class Finding:
    rule: str
    error: DovetailError


@dataclass
class Landing:
    """A query that is about to be deployed: what it compiles to, and what prevents that. `begins`, `reslice`:
    see `Wanted`."""

    home: str
    text: str
    application: str | None = None
    owner: str | None = None
    begins: tuple[str, ...] = ()
    reslice: bool = False
    estimate: ResourceEstimate | None = None
    program: Program | None = None
    plan: Plan | None = None
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings

    @property
    def may_look(self) -> bool:
        """Its sources may be opened."""
        return not any(found.rule == "reaches" for found in self.findings)

    def require(self) -> None:
        """Raise the first error, with the others after it."""
        if self.findings:
            raise self.findings[0].error


def land(
    home: str,
    text: str,
    application: str | None = None,
    owner: str | None = None,
    *,
    begins: Sequence[str] = (),
    reslice: bool = False,
) -> Landing:
    """Ask every rule. `application`: the one that the query is meant for; None: a new one, which will belong
    to `owner`, and has to fit into what they may have. The others: see `Wanted`."""
    landing = Landing(home, text, application, owner, tuple(begins), reslice)
    for name, rule in RULES.items():
        try:
            landing.findings += [Finding(name, error) for error in rule(landing)]
        except DovetailError as error:
            landing.findings.append(Finding(name, error))
        if not landing.may_look or (name != "reaches" and landing.plan is None):
            break  # its sources are not opened; or the other rules ask about a plan
    return landing


def _reaches(landing: Landing) -> Iterator[DovetailError]:
    """First of all, on the text alone: what may not be read must not be looked at to check the query."""
    from dovetail.pql.parser import parse_all
    from dovetail.service.access.people import read_access
    from dovetail.service.access.reach import beyond

    if len(landing.text) > MOST_TEXT:
        return  # the next rule says so
    try:
        program = parse_all(landing.text, name="query").program
        known = find_wanted(landing.home, landing.application) if landing.application else None
    except DovetailError:
        return
    owner = known.owner if known is not None else landing.owner or NOBODY
    yield from beyond(read_access(landing.home), owner, program, landing.home)


def _compiles(landing: Landing) -> Iterator[DovetailError]:
    from dovetail.pql.check import check
    from dovetail.pql.parser import parse, parse_all
    from dovetail.spark.inputs import seen_sources

    if len(landing.text) > MOST_TEXT:
        raise InputError(f"the query has more than {MOST_TEXT:,} characters", expected="a PQL text")
    seen = seen_sources(parse_all(landing.text, name="query").program, landing.home)
    report = check(landing.text, name="query", source_schemas=seen.types)
    report = report.with_findings(seen.errors, seen.warnings)
    landing.warnings = report.warnings
    yield from report.errors
    if report.ok:
        landing.program, landing.plan = parse(landing.text, name="query"), report.plan


def _named(landing: Landing) -> Iterator[DovetailError]:
    assert landing.plan is not None
    found, meant = landing.plan.application, landing.application
    if meant is None:
        known = find_wanted(landing.home, found)
        if known is not None and known.state != "deleted":
            yield StateError(
                f"there is an application {found} already",
                expected="a name that is free",
                hint=f"deploy the query to {found}, or change the name in CREATE APPLICATION",
            )
    elif found != meant:
        yield PlanError(
            f"the query is for application {found}, not for {meant}",
            where="CREATE APPLICATION",
            expected=f"CREATE APPLICATION {meant};",
            hint="an application keeps its name; clone it to have it under another one",
        )


def _continues(landing: Landing) -> Iterator[DovetailError]:
    from dovetail.changes.positions import positions_in
    from dovetail.changes.takeover import bound, consider, require
    from dovetail.changes.words import change_lines
    from dovetail.service.cli.run import compile_query

    assert landing.plan is not None
    assert landing.program is not None
    positions = positions_in(landing.begins)
    if bound(landing.home, landing.plan.application) is None:
        # It has seen nothing yet; an input that is missing may come before it starts.
        consider(landing.home, [landing.plan], landing.program, positions=positions)
        return
    program, plans = compile_query((landing.text, "query"), landing.home)
    takeover = consider(landing.home, plans, program, positions=positions, reslice=landing.reslice)
    landing.plan = takeover.plan
    landing.changes = tuple(change_lines(takeover.changes))
    try:
        require(takeover)
    except DovetailError as error:
        yield error


def _alone(landing: Landing) -> Iterator[DovetailError]:
    assert landing.plan is not None
    places = {place: stage.name for stage in landing.plan.stages if (place := _place(stage.output))}
    for name in list_applications(landing.home):
        if name == landing.plan.application or not places:
            continue
        for stage in _plan_of(landing.home, name):
            place = _place(stage)
            if place in places:
                yield StateError(
                    f"application {name} writes to {place} already",
                    where=f"table {places[place]}",
                    expected="a place that no other application writes to",
                    hint="choose another path or category in STORAGE",
                )


def _plan_of(home: str, application: str) -> list[Output]:
    try:
        return [stage.output for stage in read_application(home, application).stages]
    except DovetailError:
        return []  # that application cannot run either; its own page says why


def _writable(landing: Landing) -> Iterator[DovetailError]:
    assert landing.plan is not None
    for stage in landing.plan.stages:
        if not isinstance(stage.output, FileSink) or "://" in stage.output.path:
            continue
        folder = Path(stage.output.path).absolute()
        there = next(one for one in (folder, *folder.parents) if one.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            yield InputError(
                f"{folder} cannot be written",
                where=f"table {stage.name}",
                expected="a folder that the service may write to",
                hint=f"{there} is {'no folder' if not there.is_dir() else 'not writable'}",
            )


def _read(landing: Landing) -> Iterator[DovetailError]:
    """A table that goes to a category may be read by others, by the names of its columns."""
    from dovetail.changes.leftovers import readers_elsewhere

    assert landing.plan is not None
    application = landing.plan.application
    if application not in list_applications(landing.home):
        return
    before = {place for output in _plan_of(landing.home, application) if (place := _category(output))}
    after = {place for stage in landing.plan.stages if (place := _category(stage.output))}
    for category, reader in readers_elsewhere(landing.home, application, before - after):
        yield StateError(
            f"application {reader} reads category {category}, which this query no longer writes",
            expected="a query that goes on writing it",
            hint=f"change or stop {reader} first, or keep a table with this category",
        )


def _in_log(landing: Landing) -> Iterator[DovetailError]:
    """An application that has run goes on from its marks in the log. Retention by age or size, or somebody
    who removes rows by hand, does not wait for one that stands still."""
    assert landing.plan is not None
    application = landing.plan.application
    if application not in list_applications(landing.home):
        return
    known = set(list_categories(landing.home))
    for name in sorted(_read_from(landing.plan) & known):
        category = Category.open(landing.home, name)
        first = category.first_commit()
        for mark in category.marks():
            if mark.application == application and mark.needs_commit < first:
                yield StateError(
                    f"category {name} begins at commit {first}, and the application has read up to "
                    f"{mark.needs_commit}",
                    where=f"reader {mark.name}",
                    expected="a log that reaches back to where the application was",
                    hint="the rows in between are gone: delete the application and create it again to go on "
                    "without them, and let the category keep rows for longer",
                )


def _read_from(plan: Plan) -> set[str]:
    """Categories that an application reads: its inputs, and its own sides."""
    found = own_categories(plan)
    for stage in plan.slicers:
        found |= {table.source.category for table in stage.inputs if isinstance(table.source, ScribeSource)}
    return found


def _fits(landing: Landing) -> Iterator[DovetailError]:
    assert landing.plan is not None
    name = landing.plan.application
    landing.estimate = needed = estimate(landing.home, landing.plan)
    known = find_wanted(landing.home, name)
    owner = landing.owner or (known.owner if known is not None else None)
    near = known is None or not is_cluster(master_of(known))
    own = Usage(name, 0, needed.memory_bytes, needed.rows_per_s, needed.tasks, near)
    used = {
        who: [one for one in each if one.application != name] for who, each in usages(landing.home).items()
    }
    groups = {f"the applications of {owner}": (owner, used.get(owner, []))} if owner is not None else {}
    if near:
        here = [one for each in used.values() for one in each if one.here]
        groups["all applications on this machine"] = EVERYBODY, here
    for whose, (who, others) in groups.items():
        together = [*(one for one in others if one.application != name), own]
        words = exceeded(allowed(landing.home, who), together)
        if words is not None:
            yield QuotaError(
                f"{whose} would take {words}",
                where=f"application {name}",
                expected="an application that fits into what is left",
                hint="choose narrower bounds or fewer tasks, stop another application, or ask for a larger "
                "quota",
            )


def _category(output: Output) -> str | None:
    return output.category if isinstance(output, ScribeSink) else None


def _place(output: Output) -> str | None:
    """Where rows leave an application, in words that are equal if the places are."""
    if isinstance(output, ScribeSink):
        return f"category {output.category}"
    if isinstance(output, FileSink):
        return f"folder {output.path if '://' in output.path else Path(output.path).absolute()}"
    return None


Rule = Callable[[Landing], Iterator[DovetailError]]
RULES: dict[str, Rule] = {
    "reaches": _reaches,
    "compiles": _compiles,
    "named": _named,
    "continues": _continues,
    "alone": _alone,
    "writable": _writable,
    "read": _read,
    "in_log": _in_log,
    "fits": _fits,
}
