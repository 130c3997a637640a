"""A change that meets something else that moves the join's state: the right window is being read again from
the log, tasks are being rescaled, hot keys are split. Each time with a process that dies there, and with a
further change. Step by step as the oracle: by the old query up to the change, by the new one from it on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from change_oracle import ChangingJoin, Spec
from dovetail.engine.asked_tasks import ask
from dovetail.engine.driver import JoinDriver
from dovetail.joins import read_back
from dovetail.log.category import Category
from dovetail.log.commit import Commit
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin
from dovetail.model.share import HotKey
from laws.algorithms import HASHINGS
from laws.recovering import Crash, RecoveringJoin, in_log_order, passing_home
from oracle import ENDED
from streams import Mode, Row, Step, Window

HASHING = HASHINGS[0]
LEFT = Spec(20, 15, "left", "all", "first")
WIDER = LEFT._replace(before=90, after=25)
INNER = LEFT._replace(how="inner")
FULL, NEAREST = WIDER._replace(how="full"), WIDER._replace(match="one", pick="nearest")
CHANGES = [
    pytest.param(LEFT, WIDER, NEAREST, id="wider, then one partner"),
    pytest.param(INNER, WIDER, INNER, id="wider and left, then back"),
    pytest.param(INNER, FULL, LEFT, id="wider and full, then narrower"),
    pytest.param(NEAREST, LEFT, FULL, id="all partners, then full"),
]


def steps(seed: int) -> list[Step]:
    """Rows of few keys, most of them of key 0. Windows reach over several steps."""
    rng, made = random.Random(seed), []
    for number in range(9):
        sides = [
            tuple(
                Row(rng.choice((0, 0, 0, 1, 2, 3, None)), 30 * number + rng.randrange(40), 0)
                for _ in range(rng.randrange(4, 12))
            )
            for _ in range(2)
        ]
        made.append(Step(sides[0], sides[1], (30 * number, 30 * number - 5)))
    return in_log_order([*made, Step((), (), (ENDED, ENDED))], HASHING)


def made(home: object, spec: Spec) -> RecoveringJoin:
    join = RecoveringJoin(home, Window(*spec[:2]), Mode(*spec[2:5]), HASHING)  # type: ignore[arg-type]
    join.config = replace(join.config, settings=replace(join.config.settings, history_us=10**15))
    join.driver = JoinDriver(join.config)
    return join


def kind(spec: Spec) -> IntervalJoin:
    return IntervalJoin(IntervalSpec(*spec))


@pytest.mark.parametrize(("old", "new", "last"), CHANGES[1:3])
def test_while_the_right_window_is_replayed(
    old: Spec, new: Spec, last: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is lost, and the query is changed. The process dies while it reads the window back, at each
    of the places where it reads; then the query is changed once more, before the first change is done. Each
    of the two is a step, and the first is run as it was planned."""
    monkeypatch.setattr(read_back, "AT_ONCE", 1)
    picked, deaths = Category.picked, 0
    for place in range(100):
        read = 0

        def dying(self: Category, numbers: Sequence[int], place: int = place) -> list[Commit]:
            nonlocal read
            read += 1
            if read > place:
                raise Crash
            return picked(self, numbers)

        with passing_home() as home:
            join, expected = made(home, old), ChangingJoin(old)
            for step in (given := steps(1))[:5]:
                assert join.step(step, 2, "none") == expected.step(*step)
            join.becomes(kind(new))
            end, died = join.planned_change(), False
            with monkeypatch.context() as patch:
                patch.setattr(Category, "picked", dying)
                join.lose_index()
                try:
                    list(join.driver.run(join.offset, end))
                except Crash:
                    died = True
            join.becomes(kind(last))
            assert join.run(end, "none") == expected.change(new)
            assert join.change("none") == expected.change(last)
            for step in given[5:]:
                assert join.step(step, 2, "none") == expected.step(*step)
        deaths += died
        if not died:
            break
    assert deaths > 4


@pytest.mark.parametrize("accident", ["none", "a worker dies", "the host is lost"])
@pytest.mark.parametrize(("old", "new", "last"), CHANGES)
def test_while_tasks_are_rescaled(old: Spec, new: Spec, last: Spec, accident: str) -> None:
    """A step for more tasks is planned when the query is changed: it runs as planned. Fewer tasks are asked
    for when the query is changed again: the change keeps the number, and the step after it has the new one.
    """
    given, expected = steps(2), ChangingJoin(old)
    with passing_home() as home:
        join = made(home, old)
        for step in given[:3]:
            assert join.step(step, 2, "none") == expected.step(*step)
        end = join.planned(given[3], 5)
        join.becomes(kind(new))
        assert join.run(end, accident) == expected.step(*given[3])
        assert join.change(accident) == expected.change(new)
        assert join.offset.tasks == 5
        assert join.step(given[4], 3, accident) == expected.step(*given[4])
        ask(join.config, 1)
        join.becomes(kind(last))
        assert join.change(accident) == expected.change(last)
        assert join.offset.tasks == 3
        for number, step in enumerate(given[5:]):
            assert join.step(step, (1, 8)[number % 2], accident) == expected.step(*step)


@pytest.mark.parametrize("accident", ["none", "a worker dies", "the host is lost"])
@pytest.mark.parametrize(("old", "new", "last"), CHANGES)
def test_with_hot_keys_split(old: Spec, new: Spec, last: Spec, accident: str) -> None:
    """Keys are split when the query is changed, by both sides where the join can do that. Those that the new
    join can split stay split in the change; the others come together in it."""

    def hot(spec: Spec) -> list[HotKey]:
        if spec.how == "full":
            return []
        dealt = "right" if spec.how == "inner" else "left"
        return [HotKey(HASHING.of(0), dealt), HotKey(HASHING.of(1), "left")]  # type: ignore[arg-type]

    given, expected, spec = steps(3), ChangingJoin(old), old
    with passing_home() as home:
        join = made(home, old)
        for number, step in enumerate(given):
            if number in (3, 6):
                spec = new if number == 3 else last
                join.becomes(kind(spec))
                before = join.offset.hot_keys
                assert join.change(accident) == expected.change(spec)
                stay = {"full": (), "inner": ("left", "right")}.get(spec.how, ("left",))
                assert list(join.offset.hot_keys) == [key for key in before if key.dealt in stay]
            assert join.step(step, 3, accident, hot(spec)) == expected.step(*step)
