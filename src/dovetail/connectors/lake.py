"""A table of a lake as a stream of the rows that are appended to it.

    about      the table that is there now: its id, its newest version, its columns
    whole      the files of a version
    changes    what each version after a given one has added, in order; `added`: what one has
    before     the version before another
    read       the rows of a file

A new kind of lake is one class like this and its line in `lake_kinds.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from dovetail.connectors.options import Option
from dovetail.connectors.secret import Revealed

if TYPE_CHECKING:
    import pyarrow as pa

START = Option(
    "start",
    "text",
    'Where reading begins when the application first starts: "earliest", "latest" or a version.',
    default="earliest",
)
ON_CHANGE = Option(
    "on_change",
    "choice",
    "What to do with a version that deletes or replaces rows.",
    default="stop",
    choices=("stop", "skip"),
)
EVERY_LAKE = (START, ON_CHANGE)
"""Options that lakes of any kind have."""


class About(NamedTuple):
    """`version` None: nothing was ever written to it."""

    id: str
    version: int | None
    schema: pa.Schema


@dataclass(frozen=True)
class LakeFile:
    """`what` is for `read` alone."""

    path: str
    bytes: int
    what: Any = None


@dataclass(frozen=True)
class Added:
    """What a version did: it appended these files, or nothing that is data (`append` without files), or it
    changed rows that were there."""

    version: int
    kind: Literal["append", "change"]
    files: tuple[LakeFile, ...] = ()
    operation: str = ""


class Lake(Protocol):
    @property
    def place(self) -> str:
        """For people, without secrets."""

    def about(self) -> About: ...

    def whole(self, version: int) -> Sequence[LakeFile]: ...

    def changes(self, after: int | None) -> Sequence[Added]:
        """Raises an InputError if the versions after that one are not known any more."""

    def added(self, version: int) -> Added:
        """What one version did."""

    def before(self, version: int) -> int | None:
        """The version before this one, which must be there."""

    def read(self, file: LakeFile, columns: Sequence[str]) -> pa.Table: ...


class LakeKind(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def first(self) -> str:
        """The option whose value may come without its name."""

    @property
    def options(self) -> tuple[Option, ...]: ...

    def validate(self, options: dict[str, Any]) -> None: ...

    def place(self, options: dict[str, Any]) -> str: ...

    def open(self, given: Revealed) -> Lake: ...
