"""How far a topic is in a category: what the last commit of its slicer about that topic says.

Law: a record is covered if and only if a commit with its row, or with the record set aside, exists. Offsets
are kept nowhere else, not even by brokers, so nothing can disagree with the log.

    commit 41   topic clicks (its id), offsets 0: 1000, 1: 950      the next record of each partition

The first commit has no rows. It says where the application starts, so that `latest` means the same after a
crash. A topic that is deleted and made again has another id. An input that is another topic now goes on in
the same category, with a first commit of its own; if it comes back to a topic, it goes on where that was
left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dovetail.log.category import Category
from dovetail.model import json_values as said
from dovetail.slicing.covered_commits import last_of, saying


@dataclass(frozen=True)
class CoveredOffsets:
    """`offsets`: the next record by partition."""

    topic: str
    id: str
    offsets: Mapping[int, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        numbered = {str(partition): offset for partition, offset in sorted(self.offsets.items())}
        return {"topic": self.topic, "id": self.id, "offsets": numbered}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> CoveredOffsets:
        given = said.fields(body, ["topic", "id", "offsets"])
        offsets = said.fields(given["offsets"])
        return cls(
            said.text(given["topic"]),
            said.text(given["id"]),
            {int(partition): said.whole(offset) for partition, offset in offsets.items()},
        )


def covered(category: Category, producer: str, topic: str) -> CoveredOffsets | None:
    """What the last commit of the producer about the topic says; None if there is none."""
    commit = last_of(
        category, producer, lambda covers: "lake" not in covers and covers.get("topic", topic) == topic
    )
    if commit is None or commit.covers is None:
        return None
    with saying(category, commit.number, "up to which offsets of its topic it goes"):
        return CoveredOffsets.from_json(commit.covers)
