"""Files whose rejects are owed: a stage has read them while another one kept the rejects of their table, and
that one had not come to them.

Law: the rejects of every file are kept once. The first stage that reads a table keeps them, of the files that
it reads, and the plan that counts says which stage that is. When a start makes another stage the first, also
by another order of statements alone, that one may have read files of which nobody has kept any. They are
written down before the new plan counts, and read once more for their rejects only.

    apps/<application>/readings/owed.<table>@1.json      a reading whose files are those that are owed
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from dovetail.slicing.readings import Reading, forget_reading, read_reading, write_reading
from dovetail.slicing.standing import FilesDone

_STAGE = "owed."
"""No stage is called so: a name has a table or a view before its dot."""


def owed_rejects(home: str, application: str, table: str) -> frozenset[str]:
    found = read_reading(home, application, f"{_STAGE}{table}", 1)
    return (
        found.standing.files if found is not None and isinstance(found.standing, FilesDone) else frozenset()
    )


def owed_of(owed: Set[str], read: Set[str], kept: Set[str]) -> set[str]:
    """What a stage makes good for, of files that are owed. `read`: its own files. One that it has not read
    may be owed by a change that did not come to pass: it keeps its rejects when it comes to it. `kept`:
    files whose rejects threads have kept."""
    return set((owed & read) - kept)


def note_owed(home: str, application: str, table: str, files: Iterable[str]) -> None:
    owed = FilesDone(frozenset(files))
    if owed.files:
        write_reading(home, Reading(application, f"{_STAGE}{table}", 1, table, owed))


def forget_owed(home: str, application: str, table: str) -> None:
    """They have been kept."""
    forget_reading(home, application, f"{_STAGE}{table}", 1)


def is_owed(stage: str) -> bool:
    return stage.startswith(_STAGE)
