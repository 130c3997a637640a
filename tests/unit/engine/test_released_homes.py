"""A home that an earlier build has written is continued as if it were our own; one of a later build is left
as it is.

`tests/homes/*.tar.gz` were packed by those builds (`tests/homes/make_home.py`):

    4acd827   commits of format 2: no promises, no slicers that are threads
    17665ec   commits of format 3: promises
    b2a515b   commits of format 4: what a slicer has covered; snapshots in pieces
    54b71e5   versions and generations; offsets of format 5 name their query
    ec85ac3   plans of format 6
"""

from __future__ import annotations

import json
import random
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commands import run_command
from dovetail.changes.takeover import consider
from dovetail.engine.copying import settle
from dovetail.engine.live_index import unmap_all
from dovetail.engine.queries import config_at, remember
from dovetail.errors import StateError, UnknownVersion
from dovetail.log import document
from dovetail.log.history import forget
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.offset import JoinOffset
from homes.make_home import KINDS
from service.test_why_command import plan
from unit.engine.stepping import Driven

HOMES = {
    path.name.partition(".")[0]: path for path in (Path(__file__).parents[2] / "homes").glob("[0-9a-f]*.gz")
}


def unpacked(build: str, folder: Path) -> Path:
    forget()  # a category is known by its id, and this process may have met it in another test
    with tarfile.open(HOMES[build]) as archive:
        archive.extractall(folder, filter="data")
    for category in folder.glob("*/home/log/*"):
        (category / "readers").mkdir()  # an archive of files has no empty folders
    return folder


def released(folder: Path, kind: str) -> tuple[Driven, dict[str, Any]]:
    """The join as that build left it, to be driven on by this one."""
    said = json.loads((folder / "driven.json").read_text())
    join = Driven.make(folder / "new", KINDS[kind])  # for the configuration of this build
    config = replace(join.config, home=str(folder / "home"), index_dir=str(folder / "index"))
    ids = {side: len(rows) for side, rows in said["rows"].items()}
    return Driven(config, JoinOffset.from_json(said["offset"]), _ids=ids), said


def driven_on(join: Driven, kind: str) -> None:
    rng = random.Random(4)
    for step in range(4, 7):
        for side in ("left", "right"):
            keys: Any = range(3) if kind == "theta" else "abc"
            join.append(side, *[(rng.choice(keys), step * 40 + rng.randrange(60)) for _ in range(4)])
        join.step(final=step == 6)
    settle()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("build", sorted(HOMES))
def test_a_home_of_an_earlier_build_goes_on(tmp_path: Path, build: str, kind: str) -> None:
    """As if this build had run it from the beginning."""
    join, said = released(unpacked(build, tmp_path) / kind, kind)
    driven_on(join, kind)

    own = Driven.make(tmp_path / "own", KINDS[kind])
    for step in range(4):
        for side, rows in said["rows"].items():
            own.append(side, *[tuple(row) for row in rows[step * 4 : step * 4 + 4]])
        own.step()
    before = len(own.out)
    assert sorted(map(str, own.out)) == sorted(str(tuple(row)) for row in said["out"]), (
        "the rules are the same"
    )
    unmap_all()
    driven_on(own, kind)
    assert sorted(map(str, join.out)) == sorted(map(str, own.out[before:]))
    assert join.out


def test_a_home_of_before_versions_is_changed(tmp_path: Path) -> None:
    join, _ = released(unpacked("b2a515b", tmp_path) / "interval", "interval")
    wider = IntervalJoin(IntervalSpec(90, 40, "left"))
    join.config = replace(join.config, join_kind=wider, query=2)
    with pytest.raises(StateError, match="it is not known what query 1 of join view was"):
        join.step()
    first, _ = released(tmp_path / "interval", "interval")
    first.append("left", ("a", 200))
    first.step()  # writes down what it was
    assert isinstance(config_at(join.config, 1).join_kind, IntervalJoin)
    join.offset = first.offset
    join.step()
    assert (join.offset.step, join.offset.query) == (6, 2)


@pytest.mark.parametrize("build", sorted(HOMES))
def test_it_is_asked_about(tmp_path: Path, build: str, capsys: pytest.CaptureFixture[str]) -> None:
    home = str(unpacked(build, tmp_path) / "interval/home")
    assert run_command("status", "app", "--home", home) == 0
    assert "join view  as of step 4" in capsys.readouterr().out
    assert run_command("why", "app", "--key", "a", "--home", home) == 0
    assert "in step " in capsys.readouterr().out
    assert run_command("versions", "app", "--home", home) == 0


def go_on(folder: Path) -> None:
    join, _ = released(folder, "interval")
    remember(join.config)
    join.step()


def start(folder: Path) -> None:
    """What a run does before anything else."""
    consider(str(folder / "home"), [plan("view")])


FUTURE = {
    "apps/app/application.json": start,
    "log/left/category.json": go_on,
    "log/left/commits/00000000000000000004.json": go_on,
    "apps/app/state/view/queries/1.json": go_on,
}


@pytest.mark.parametrize(("file", "use"), FUTURE.items())
def test_a_home_of_a_later_build_is_left_as_it_is(
    tmp_path: Path, file: str, use: Callable[[Path], None]
) -> None:
    """Whatever it has that this build does not know: it says so, and writes nothing."""
    folder = unpacked("54b71e5", tmp_path) / "interval"
    (folder / "home/apps/app/checkpoints/view").mkdir(parents=True)  # it has run
    path = folder / "home" / file
    known = path if path.exists() else path.with_name(path.name.replace("4", "3"))
    said = json.loads(known.read_bytes())
    path.write_bytes(document.encode(said["format"], 99, said["body"]))
    before = {path: path.read_bytes() for path in (folder / "home").rglob("*") if path.is_file()}
    with pytest.raises(UnknownVersion, match="version 99") as refused:
        use(folder)
    assert "release of Dovetail that wrote it, or a newer one" in (refused.value.hint or "")
    assert before == {path: path.read_bytes() for path in (folder / "home").rglob("*") if path.is_file()}
