"""Deploys a folder of queries, all of them or none: a folder under git, for example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dovetail.errors import DovetailError, InputError
from dovetail.service.cli.pql_file import read_pql
from dovetail.service.keeping import verbs
from dovetail.service.keeping.landing import Finding, land
from dovetail.service.keeping.wanted import Wanted, find_wanted, list_wanted

Difference = Literal["new", "changed", "stopped", "same"]


@dataclass(frozen=True)
class PlannedFile:
    """One file of the folder beside what is wanted now."""

    file: Path
    application: str
    text: str
    difference: Difference
    findings: tuple[Finding, ...]
    changes: tuple[str, ...]
    begins: tuple[str, ...] = ()
    reslice: bool = False


@dataclass(frozen=True)
class Applied:
    """`elsewhere`: applications of the service that the folder does not have. They are left as they are."""

    planned: tuple[PlannedFile, ...]
    elsewhere: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not any(one.findings for one in self.planned)


def look(
    home: str,
    place: Path,
    owner: str | None = None,
    *,
    begins: Sequence[str] = (),
    reslice: bool = False,
) -> Applied:
    """What applying a file, or a folder of `.pql` files, would do. Nothing is touched. `owner`: of those
    that are new. `begins`, `reslice`: for one file; see `Wanted`."""
    files = sorted(place.glob("**/*.pql")) if place.is_dir() else [place]
    if not files:
        raise InputError("the folder has no .pql file", where=str(place), expected="a query in each file")
    if (begins or reslice) and place.is_dir():
        raise InputError(
            "--from and --reslice are said of one query",
            where=str(place),
            expected="one .pql file",
            hint="apply the file that they are for, then the folder",
        )
    planned = tuple(_planned(home, file, owner, tuple(begins), reslice) for file in files)
    names = [one.application for one in planned]
    for name in names:
        if names.count(name) > 1:
            both = ", ".join(str(one.file) for one in planned if one.application == name)
            raise InputError(f"application {name} is in several files", where=both, expected="one of them")
    found, _ = list_wanted(home)
    elsewhere = (one.application for one in found if one.application not in names and one.state != "deleted")
    return Applied(planned, tuple(elsewhere))


def apply(home: str, applied: Applied, *, by: str) -> list[Wanted]:
    """Deploy all that differ. The caller has looked, and found no errors."""
    for one in applied.planned:
        if one.findings:
            raise one.findings[0].error
    return [
        verbs.deploy(home, one.text, by=by, begins=one.begins, reslice=one.reslice)[0]
        for one in applied.planned
        if one.difference != "same"
    ]


def _planned(home: str, file: Path, owner: str | None, begins: tuple[str, ...], reslice: bool) -> PlannedFile:
    text = read_pql(file)
    name = verbs.name_in(text) or ""
    try:
        known = find_wanted(home, name) if name else None
    except DovetailError as error:
        return PlannedFile(file, name, text, "new", (Finding("named", error),), ())
    there = known is not None and known.state != "deleted"
    landing = land(home, text, name if there else None, owner, begins=begins, reslice=reslice)
    findings = tuple(landing.findings)
    return PlannedFile(file, name, text, _difference(known, text), findings, landing.changes, begins, reslice)


def _difference(known: Wanted | None, text: str) -> Difference:
    if known is None or known.state == "deleted":
        return "new"
    if known.text != text:
        return "changed"
    return "same" if known.state == "running" else "stopped"
