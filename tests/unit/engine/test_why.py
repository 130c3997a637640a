"""What can be asked about rows, and law: what is said is what came out. The answers are in tests/stories.

Windows are 30 before to 40 after, in microseconds; streams have no delay unless a test says so.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from dovetail.engine import step_log
from dovetail.engine.step_log import read_records
from dovetail.errors import InputError
from dovetail.joins.theta.fate import ThetaFate
from dovetail.joins.theta.step import Turn
from dovetail.joins.theta.turns import turns_of
from dovetail.joins.windowed.fate import WindowFate
from dovetail.log.category import Category
from dovetail.model.interval import IntervalSpec, JoinType
from dovetail.model.join_kind import ThetaJoin, WindowedJoin
from dovetail.model.theta import Constant, Operand, Operation, Theta
from dovetail.model.theta_text import condition_text, conjuncts
from dovetail.model.window_join import hopping, session, tumbling
from dovetail.service.words.fate_words import AnyFate, fate_lines
from dovetail.service.words.why_words import heading, preface, to_json
from dovetail.why.why import Answer, why
from laws.theta import CONDITIONS, EVEN, band, counting
from unit.engine.stepping import Driven, ids

SPEC = IntervalSpec(30, 40, "left")
SECOND = 1_000_000
KEYS = "abcdef"


@pytest.fixture
def join(tmp_path: Path) -> Driven:
    return Driven.make(tmp_path, SPEC)


@pytest.fixture
def near(tmp_path: Path) -> Driven:
    """At most two apart, and both even or both odd."""
    return Driven.make(tmp_path, ThetaJoin(SPEC, Theta((band(-2, 2),), (EVEN,))))


def asked(answer: Answer) -> list[int]:
    return ids([fate.left for fate in answer.fates])


def test_no_such_left_row(join: Driven) -> None:
    join.append("left", ("apple", 100), ("pear", 100), (None, 7))
    join.append("right", ("aple", 120))
    join.step()
    answer = join.why("aple")
    assert answer.fates == ()
    assert answer.similar == (("apple",), ("pear",))
    text = "\n".join(preface(answer))
    assert "no left row with this key" in text
    assert "right rows with this key: 1" in text
    assert "apple | pear" in text
    assert "no right row has it either" in "\n".join(preface(join.why("plum")))


def test_an_empty_log(near: Driven) -> None:
    assert list(preface(near.why_at(5))) == ["no left row is in the log"]


def test_a_left_row_that_retention_has_removed(join: Driven) -> None:
    join.append("left", ("a", 100))
    join.append("left", ("b", 100))
    join.step(final=True)
    join.retain("left", 1)
    text = "\n".join(preface(join.why("a")))
    assert "it may have been there: retention has removed commits below 1" in text


def test_where_records_are_gone_the_answer_says_so(join: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_log, "CHUNK_STEPS", 1)
    monkeypatch.setattr(step_log, "KEPT_CHUNKS", 2)
    for time in (100, 200, 300, 400):
        join.append("left", ("a", time))
        join.step()
    assert next(preface(join.why("a"))).startswith("certain for rows that came after step 3 (planned")


def test_a_time_narrows_to_what_is_near_or_nearest(join: Driven) -> None:
    join.append("left", ("a", 10 * SECOND), ("a", 10 * SECOND + 5), ("a", 14 * SECOND), ("a", 20 * SECOND))
    join.step()
    assert asked(join.why("a", 10 * SECOND + 700_000)) == [0, 1]
    assert asked(join.why("a", 16 * SECOND)) == [2]
    assert len(join.why("a").fates) == 4
    some = why(join.config, ["a"], limit=1)
    assert asked(some) == [3]
    assert list(preface(some)) == ["the newest 1 of 4 left rows; --time asks for others"]


def test_without_keys_rows_are_asked_for_by_time(near: Driven) -> None:
    near.append("left", (1, 10 * SECOND), (2, 10 * SECOND + 5), (3, None))
    near.append("left", (4, 14 * SECOND), (5, 20 * SECOND))
    near.step()
    assert asked(near.why_at(10 * SECOND + 700_000)) == [0, 1]
    assert asked(near.why_at(16 * SECOND)) == [3]
    assert asked(near.why_at(0)) == [0]
    some = why(near.config, time_us=10 * SECOND, limit=1)
    assert asked(some) == [1]
    assert list(preface(some)) == ["the newest 1 of 2 left rows; --time asks for others"]
    assert heading(near.why_row(0), "app") == "app · join view"


def test_the_wrong_number_of_key_values(join: Driven) -> None:
    with pytest.raises(InputError, match="2 key values for a key of 1") as raised:
        why(join.config, ["a", "b"])
    assert "string" in (raised.value.expected or "")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"key": ["a"]}, "has no keys to ask for"),
        ({}, "has no keys to ask for"),
        ({"row": 7}, "there is no left row 7"),
    ],
)
def test_what_is_refused_without_keys(near: Driven, question: dict[str, Any], words: str) -> None:
    near.append("left", (1, 10))
    with pytest.raises(InputError, match=words) as raised:
        why(near.config, **question)
    assert "row" in (raised.value.expected or "") or "number" in (raised.value.expected or "")


def test_many_partners_are_counted(near: Driven) -> None:
    near.append("left", (10, 100))
    near.append("right", *((10, 70 + n % 40) for n in range(200)))
    near.step(final=True)
    answer = near.why_row(0)
    (fate,) = answer.fates
    assert isinstance(fate, ThetaFate)
    assert (fate.matched, len(fate.matches)) == (200, 100)
    assert "and 195 more" in fate_lines(fate, answer.known)


def test_operands_have_the_names_of_the_query(near: Driven) -> None:
    near.append("left", (10, 100))
    near.append("right", (40, 110))
    near.step(final=True)
    names = {Operand("left", "_on_0"): "l.x", Operand("right", "_on_0"): "ascii(r.k)"}
    answer = why(near.config, row=0, names=names)
    assert "l.x - ascii(r.k) >= -2 fails for all of them" in fate_lines(answer.fates[0], answer.known)


def test_conditions_are_written_as_people_write_them() -> None:
    left, right = Operand("left", "_on_0"), Operand("right", "_on_1")
    names = {left: "l.x", right: "r.a"}
    less = Operation("<", (left, Operation("+", (right, Constant("int", "1")))))
    either = Operation("or", (less, Operation("is_null", (right,))))
    text = Operation("<>", (Operation("concat", (left, Constant("string", "a"))), Constant("null", "")))
    whole = Operation("and", (either, Operation("and", (Operation("not", (less,)), text))))
    assert [condition_text(part, names) for part in conjuncts(Theta((), (whole,)))] == [
        "l.x < r.a + 1 OR r.a IS NULL",
        "NOT (l.x < r.a + 1)",
        "concat(l.x, 'a') <> NULL",
    ]
    product = Operation("*", (Operation("-", (left, right)), Operation("neg", (left,))))
    assert condition_text(Operation(">", (product, Constant("int", "3"))), names) == "(l.x - r.a) * -l.x > 3"


# What is said is what came out.


def wild(join: Driven, rng: random.Random, keys: str | range, commits: int) -> Iterator[list[Turn]]:
    """Late rows and null times, two runs with an end. Gives the turns of each step."""
    for number in range(commits):
        made = [
            (
                None if rng.random() < 0.05 and isinstance(keys, range) else rng.choice(keys),
                None if rng.random() < 0.05 else number * 12 + rng.randrange(-90, 20),
            )
            for _ in range(rng.randrange(1, 6))
        ]
        join.append(rng.choice(["left", "right"]), *made)
        if rng.random() < 0.6 or number == commits // 2:
            before = join.offset
            join.step(final=number == commits // 2, max_step_rows=rng.choice([4, 1000]))
            if join.offset is not before:
                yield _turns(join, before.left, before.right)


def _turns(join: Driven, left: int, right: int) -> list[Turn]:
    at, found = {"left": left, "right": right}, []
    for side, count in join.offset.turns_of():
        commits = Category.open(join.config.home, side).commits(at[side], at[side] + count)
        found.append(Turn(side, commits[0].first_row, commits[-1].first_row + commits[-1].rows))
        at[side] += count
    return found


def fates(answers: Iterator[Answer]) -> Iterator[AnyFate]:
    """All of them, each certain and in words; some rows have matched and some have not."""
    statuses = set()
    for answer in answers:
        assert len(to_json(answer, "app")["rows"]) == len(answer.fates)
        for fate in answer.fates:
            assert fate.doubts == ()
            assert fate_lines(fate, answer.known)
            statuses.add(fate.status)
            yield fate
    assert {"matched", "unmatched"} <= statuses


def assert_said(join: Driven, spec: IntervalSpec, found: list[AnyFate]) -> None:
    """Pairs and lone rows are those that came out."""
    pairs, unmatched = set(), set()
    for fate in found:
        assert not isinstance(fate, WindowFate)
        assert (fate.miss is not None) == (fate.status == "unmatched")
        pairs |= {(fate.left.values["id"], match.right.values["id"]) for match in fate.matches}
        unmatched |= {fate.left.values["id"]} if fate.status == "unmatched" else set()
    if spec.emits_pairs:
        assert pairs == join.pairs
        assert join.alone == (unmatched if spec.keeps_left else set())
    else:
        assert join.alone == (unmatched if spec.how == "anti" else {left for left, _ in pairs})


@pytest.mark.parametrize("how", get_args(JoinType))
@pytest.mark.parametrize(("match", "pick"), [("all", "first"), ("one", "first"), ("one", "latest")])
@pytest.mark.parametrize("cap", [None, 2])
def test_of_joins_by_interval(tmp_path: Path, how: JoinType, match: str, pick: str, cap: int | None) -> None:
    rng = random.Random(f"{how} {match} {pick} {cap}")
    right_cap = None if pick == "latest" and how in ("right", "full") else cap
    spec = IntervalSpec(30, 40, how, match, pick, cap, right_cap)  # type: ignore[arg-type]
    join = Driven.make(tmp_path, spec, max_delay=20)
    assert list(wild(join, rng, KEYS, 30))
    found = list(fates(join.why(key) for key in KEYS))
    assert_said(join, spec, found)
    missed = [fate.miss for fate in found if not isinstance(fate, WindowFate)]
    assert cap or not any("capped" in miss.reason for miss in missed if miss)


MODES = [
    *((how, "all", "first") for how in ("inner", "left", "semi", "anti")),
    ("inner", "one", "first"),
    ("left", "one", "latest"),
]


@pytest.mark.parametrize(
    ("how", "match", "pick", "counted"),
    [*((*mode, False) for mode in MODES), *((*mode, True) for mode in MODES if mode[2] != "latest")],
)
def test_of_joins_by_a_condition(tmp_path: Path, how: str, match: str, pick: str, counted: bool) -> None:
    rng = random.Random(f"{how} {match} {pick} {counted}")
    theta = rng.choice(
        [one.theta for one in CONDITIONS if one.name in ("band", "two bands", "a band and more")]
    )
    spec = IntervalSpec(*((0, 0) if counted else (30, 40)), how, match, pick)  # type: ignore[arg-type]
    join = Driven.make(tmp_path, ThetaJoin(spec, counting(theta, 4, 6) if counted else theta), max_delay=20)
    turns = list(wild(join, rng, range(12), 24))
    if counted:
        sides = [Category.open(join.config.home, side) for side in ("left", "right")]
        assert turns_of(read_records(join.config), *sides) == turns
    assert_said(join, spec, list(fates(join.why_row(row) for row in range(join.rows("left")))))


BY_ID = Operation("%", (Operand("right", "id"), Constant("int", "3")))


@pytest.mark.parametrize(
    "kind",
    [
        *(WindowedJoin(how, tumbling(50)) for how in get_args(JoinType)),
        WindowedJoin("inner", tumbling(50, "eager")),
        WindowedJoin("left", hopping(60, 25)),
        WindowedJoin("inner", hopping(60, 25, "eager")),
        *(WindowedJoin(how, session(9, 60)) for how in ("inner", "full", "anti")),
        WindowedJoin("left", hopping(60, 25), "one", "nearest"),
        WindowedJoin("full", tumbling(50), "one", "max", BY_ID),
    ],
)
def test_of_joins_within_windows(tmp_path: Path, kind: WindowedJoin) -> None:
    """For every key, window and step."""
    join, how = Driven.make(tmp_path, kind, max_delay=10), kind.how
    assert list(wild(join, random.Random(f"{kind.window} {how}"), KEYS, 30))
    explained: Counter[tuple[int | None, ...]] = Counter()
    for fate in fates(join.why(key) for key in KEYS):
        assert isinstance(fate, WindowFate)
        id_ = fate.left.values["id"]
        if fate.invalid and fate.taken and how in ("left", "full", "anti"):
            explained[fate.taken.step, id_, None, None, None] += 1
        for one in fate.windows:
            assert (one.miss is not None) == (one.status == "unmatched")
            bounds = one.start_us, one.end_us
            if how not in ("semi", "anti"):
                explained.update((m.at.step, id_, m.right.values["id"], *bounds) for m in one.matches)
            alone = one.status == ("matched" if how == "semi" else "unmatched")
            if alone and how in ("left", "full", "semi", "anti") and one.over:
                explained[one.over.step, id_, None, *bounds] += 1
    assert explained == Counter(row for row in join.out if row[1] is not None)
