"""Several people change one application: whoever would undo what another has done gets an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.changes import takeover as module
from dovetail.changes.made_from import Origin, origin_at
from dovetail.changes.takeover import consider, take_over
from dovetail.changes.versions import read_version
from dovetail.errors import StateError
from dovetail.log.homes.filesystem import open_store
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse
from unit.changes.test_takeover import QUERY, WIDER

WIDEST = QUERY.replace("- INTERVAL '1 minute'", "- INTERVAL '3 minutes'")
MORE = QUERY.replace("SELECT x, y FROM v", "SELECT x, y, x + 1 AS z FROM v")
WIDER_AND_MORE = WIDER.replace("SELECT x, y FROM v", "SELECT x, y, x + 1 AS z FROM v")
LONG_AGO, LATER = 1, 2**60


class People:
    """Who run queries from files of theirs, in one home."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self._patch = str(home), monkeypatch

    def run(
        self,
        file: str | None,
        text: str,
        *,
        by: str = "ada",
        saved_at_us: int = LATER,
        parent: int | None = None,
    ) -> int:
        self._patch.setattr(module, "author", lambda: by)
        program = parse(text, name=file or "<string>")
        origin = None if file is None else Origin(file, saved_at_us)
        version = take_over(
            consider(self.home, plans_of(trace_program(program)), program, parent=parent, origin=origin)
        )
        open_store(self.home).make_folder("apps/app/checkpoints/v")
        return version

    def stopped(self, file: str, text: str, *, by: str = "ada", saved_at_us: int = LATER) -> StateError:
        with pytest.raises(StateError) as found:
            self.run(file, text, by=by, saved_at_us=saved_at_us)
        return found.value


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    return People(tmp_path, monkeypatch)


def test_one_person_edits_and_runs_again(people: People) -> None:
    for version, text in enumerate((QUERY, WIDER, WIDEST, QUERY, MORE, QUERY), 1):
        assert people.run("app.pql", text, saved_at_us=LONG_AGO) == version
    assert read_version(people.home, "app", 6).origin == "app.pql"


def test_the_second_of_two_with_files_of_their_own_is_told(people: People) -> None:
    assert people.run("ada.pql", QUERY) == 1
    assert people.run("bob.pql", MORE, by="bob") == 2
    assert people.run("ada.pql", WIDER_AND_MORE) == 3
    error = people.stopped(
        "bob.pql", WIDEST.replace("SELECT x, y FROM v", "SELECT x, y, x + 1 AS z FROM v"), by="bob"
    )
    assert "version 3 by ada: join v: window wider" in error.what
    assert error.hint is not None
    assert "`dovetail versions app 3`" in error.hint
    assert "--parent 3" in error.hint
    assert people.run("bob.pql", WIDEST, by="bob", parent=3) == 4, "the way that it names"
    assert people.run("bob.pql", MORE, by="bob") == 5, "from then on it is theirs"


def test_whose_query_has_what_others_changed_is_told_nothing(people: People) -> None:
    people.run("ada.pql", QUERY)
    people.run("bob.pql", WIDER, by="bob")
    assert people.run("ada.pql", WIDER_AND_MORE) == 3


def test_a_query_that_is_started_again_does_not_undo_what_came_after_it(people: People) -> None:
    """By whoever looks after the run of an old file, also if all are one user."""
    people.run("old.pql", QUERY)
    people.run("new.pql", WIDER)
    people.stopped("old.pql", QUERY)
    assert people.run("new.pql", WIDER) == 2


def test_a_file_that_was_saved_after_a_rollback_knows_of_it(people: People) -> None:
    """Edited at that very place, by whoever has rolled back. As it was, it does not undo the rollback when it
    is started again, also if it is copied again for that. Nor does somebody else's."""
    assert people.run("app.pql", QUERY) == 1
    assert people.run("app.pql", WIDER) == 2
    assert people.run(None, QUERY) == 3, "a rollback comes from no file"
    assert "version 3 by ada" in people.stopped("app.pql", WIDER).what
    assert "version 3 by ada" in people.stopped("app.pql", WIDEST, saved_at_us=LONG_AGO).what
    assert "version 3 by ada" in people.stopped("app.pql", WIDEST, by="bob").what
    assert people.run("app.pql", WIDEST) == 4


@pytest.mark.parametrize(("by", "saved_at_us"), [("bob", LATER), ("ada", LONG_AGO)])
def test_a_file_that_was_never_run_is_taken_for_an_old_one(people: People, by: str, saved_at_us: int) -> None:
    """If the present version is somebody else's, or was made after the file was saved."""
    people.run("app.pql", QUERY)
    people.run("ada.pql", WIDER)
    people.stopped("other.pql", WIDEST, by=by, saved_at_us=saved_at_us)
    assert people.run("other.pql", WIDER_AND_MORE, by=by, saved_at_us=saved_at_us) == 3


def test_a_person_may_have_a_file_for_each_version(people: People) -> None:
    for version, text in enumerate((QUERY, WIDER, WIDEST, QUERY), 1):
        assert people.run(f"{version}.pql", text) == version


def test_the_first_version_is_nobodys_change(people: People) -> None:
    people.run("app.pql", QUERY)
    assert people.run("bob.pql", WIDER, by="bob", saved_at_us=LONG_AGO) == 2


def test_a_file_is_known_by_its_host_and_path(tmp_path: Path) -> None:
    file = tmp_path / "app.pql"
    assert origin_at(str(file)).saved_at_us is None
    file.write_text(QUERY)
    found = origin_at(str(file))
    assert found.name.endswith(f":{file}")
    assert found.saved_at_us is not None
