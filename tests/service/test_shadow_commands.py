"""`dovetail deploy --shadow` and `dovetail shadow`, as people and programs see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import run_command
from dovetail.engine.copying import settle
from dovetail.engine.hold import running
from dovetail.log.category import Category
from previewing import Running, join


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Running:
    app = Running(str(tmp_path_factory.mktemp("home") / "home"), join(5, 5))
    play(app, 0, 4)
    return app


@pytest.fixture
def app(begun: Running, tmp_path: Path) -> Running:
    return begun.copied(str(tmp_path / "home"))


def play(app: Running, first: int, stop: int) -> None:
    app.play([([(n % 3, 10 * n, n)], [(n % 3, 10 * n - 8, n)]) for n in range(first, stop)])
    settle()


def deploy(app: Running, text: str, *options: str) -> int:
    file = Path(app.home).parent / "new.pql"
    file.write_text(text)
    return run_command("deploy", str(file), "--shadow", "--available-now", "--home", app.home, *options)


def test_a_shadow_is_followed_shown_and_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = Running(str(tmp_path / "home"), join(5, 5))
    play(app, 0, 4)
    assert deploy(app, join(9, 5)) == 0
    assert "nothing compared yet" in capsys.readouterr().out
    play(app, 4, 12)
    assert deploy(app, join(9, 5)) == 0
    said = capsys.readouterr()
    assert "changed" in said.err
    assert "was l = 4, r = null" in said.out
    assert run_command("shadow", "app", "--home", app.home, "--json") == 0
    said_json = json.loads(capsys.readouterr().out)
    assert said_json["version"] == 1
    found = said_json["progress"]["tables"]["v"]
    assert (found["equal"], found["gained"], found["lost"]) == (0, 0, 0)
    assert found["changed"] > 3
    assert Category.open(app.home, "app.shadow.v").next_commit() > 0
    assert run_command("shadow", "app", "--drop", "--home", app.home) == 0
    assert run_command("shadow", "app", "--home", app.home) == 1
    assert "has no shadow" in capsys.readouterr().err
    assert run_command("shadow", "app", "--drop", "--home", app.home) == 1


def test_one_shadow_at_a_time(app: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert deploy(app, join(9, 5)) == 0
    assert deploy(app, join(12, 5)) == 1
    assert "has a shadow already" in capsys.readouterr().err
    with running(app.home, "app.shadow"):
        assert deploy(app, join(9, 5)) == 1
    assert "is running already" in capsys.readouterr().err


def test_a_change_that_is_refused_is_not_tried(app: Running, capsys: pytest.CaptureFixture[str]) -> None:
    zone = join(9, 5, "FULL").replace("app;", 'app;\nSET TIME ZONE "Europe/Berlin";', 1)
    assert deploy(app, zone) == 1
    assert "cannot go on with this query" in capsys.readouterr().err
    assert run_command("shadow", "app", "--home", app.home) == 1


def test_nothing_is_left_of_a_shadow_that_cannot_be(app: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert deploy(app, join(9, 5, select="a.id AS l, b.id AS r, CAST(a.id AS INT) AS small")) == 1
    assert "needs Spark" in capsys.readouterr().err
    assert run_command("shadow", "app", "--home", app.home) == 1
    assert "has no shadow" in capsys.readouterr().err


def test_a_shadow_may_be_of_a_join_that_begins_afresh(
    app: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    """A narrower type is refused without that."""
    narrower = join(5, 5).replace("b (t TIMESTAMP, k BIGINT, id BIGINT)", "b (t TIMESTAMP, k BIGINT, id INT)")
    assert deploy(app, narrower) == 1
    assert "start it with --reslice" in capsys.readouterr().err
    assert deploy(app, narrower, "--reslice") == 0
    assert "shadow of app, version 1" in capsys.readouterr().out


def test_promote_and_drop_exclude_each_other(app: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("shadow", "app", "--promote", "--drop", "--home", app.home) == 1
    assert "cannot be combined" in capsys.readouterr().err
