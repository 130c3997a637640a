"""How far a table of a lake is in a category: what the last commit of its slicer about that table says.

    version 7, whole, files 12     the first twelve files of the table as it was in version 7
    version 9, files 3             all before version 9, and its first three files
    version 9                      all of it

Law: a file is covered if and only if a commit with its rows exists. The files of a version have an order that
does not change. The first commit may have no rows: it says where the application starts, so that `latest`
means the same after a crash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dovetail.log.category import Category
from dovetail.model import json_values as said
from dovetail.slicing.covered_commits import last_of, saying


@dataclass(frozen=True)
class CoveredVersions:
    """`place`: the table, as people call it; None in commits of releases that did not write it.
    `version` None: the table had none. `files` None: all of them. `whole`: they are those of the table in
    that version, not those that the version has added. `skipped`: versions that changed rows, and were
    passed over with this commit."""

    id: str
    version: int | None
    files: int | None = None
    whole: bool = False
    skipped: tuple[int, ...] = ()
    place: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "lake": self.id,
            "version": self.version,
            "files": self.files,
            "whole": self.whole,
            "skipped": list(self.skipped),
            "place": self.place,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> CoveredVersions:
        names = ["lake", "version", "files", "whole", "skipped", "place"]
        given = said.fields({"place": None, **said.fields(body)}, names)
        version, files, place = given["version"], given["files"], given["place"]
        return cls(
            said.text(given["lake"]),
            None if version is None else said.whole(version),
            None if files is None else said.whole(files),
            said.flag(given["whole"]),
            tuple(said.whole(one) for one in said.items(given["skipped"])),
            None if place is None else said.text(place),
        )


def covered(category: Category, producer: str, place: str) -> CoveredVersions | None:
    """What the last commit of the producer about the table says; None if there is none."""
    commit = last_of(
        category, producer, lambda covers: "topic" not in covers and covers.get("place") in (place, None)
    )
    if commit is None or commit.covers is None:
        return None
    with saying(category, commit.number, "up to which version of its table it goes"):
        return CoveredVersions.from_json(commit.covers)
