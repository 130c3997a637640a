"""The sliding-window join with threads: every pair of the three-step procedure, once, in the order asked
for."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sliding_oracle
from dovetail.errors import InputError, RunError, SettingError
from dovetail.model.sliding import Window
from dovetail.sliding.engine import Punctuation, SlidingJoin
from dovetail.sliding.topology import INBOX_ROWS
from unit.sliding.sliding_workload import BAND, LEFT, LOOSE, PREDICATES, RIGHT, arrivals, batch, pieces

Windows = tuple[tuple[str, int], tuple[str, int]]
WINDOWS: list[Windows] = [
    (("rows", 20), ("rows", 7)),
    (("time", 12), ("time", 30)),
    (("rows", 15), ("time", 9)),
]


def join_of(text: str, windows: Windows, **options: Any) -> SlidingJoin:
    left, right = (Window(**{kind: size}) for kind, size in windows)
    return SlidingJoin(
        text, left=LEFT, right=RIGHT, left_window=left, right_window=right, time="t", **options
    )


def joined(
    seed: int, text: str, windows: Windows, rows: int = 150, **options: Any
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """What comes out for a random stream pushed in random pieces, and what should; both in order."""
    rng = random.Random(seed)
    stream = arrivals(rng, rows)
    out: list[list[int]] = []
    with join_of(text, windows, **options) as join:
        for piece in pieces(rng, stream):
            join.push(**{piece[0].side: batch(piece)})
            if rng.random() < 0.2:
                out += join.pairs().tolist()
        join.settle()
        out += join.pairs().tolist()
    return [(left, right) for left, right in out], sliding_oracle.pairs(stream, *windows, PREDICATES[text])


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@pytest.mark.parametrize("text", PREDICATES)
@pytest.mark.parametrize(("design", "cores"), [("kang", 1), ("split", 1), ("split", 3)])
def test_the_pairs_of_the_three_step_procedure(text: str, windows: Any, design: Any, cores: int) -> None:
    found, wanted = joined(7, text, windows, design=design, cores=cores, threads=True)
    assert Counter(found) == Counter(wanted)
    assert wanted, "a test without pairs tests nothing"


@pytest.mark.parametrize("access", ["scan", "cells", "runs"])
def test_every_access_path_finds_the_same(access: Any) -> None:
    found, wanted = joined(3, BAND, WINDOWS[0], rows=400, access=access, cores=2)
    assert Counter(found) == Counter(wanted)


@pytest.mark.parametrize("seed", range(6))
def test_windows_that_grow_and_wrap(seed: int) -> None:
    """More rows than a sub-window has room for at first, in both kinds of window and all access paths."""
    windows: Windows = [(("time", 4000), ("time", 2500)), (("rows", 2000), ("rows", 1100))][seed % 2]  # type: ignore[assignment]
    text = ["left.x == right.a and left.y < right.b", BAND][seed % 2]
    access: Any = ["scan", "cells", "runs"][seed // 2]
    found, wanted = joined(seed, text, windows, rows=3000, access=access, cores=1 + seed % 2)
    assert Counter(found) == Counter(wanted)


def by_prober(pairs: list[tuple[int, int]], seed: int, rows: int) -> tuple[list[Any], list[Any]]:
    """Pairs found by left rows, and by right ones: the later of two rows is the one that probes."""
    came: dict[str, list[int]] = {"left": [], "right": []}
    for number, row in enumerate(arrivals(random.Random(seed), rows)):
        came[row.side].append(number)
    probed_by_left = [pair for pair in pairs if came["left"][pair[0]] > came["right"][pair[1]]]
    probed_by_right = [pair for pair in pairs if came["left"][pair[0]] < came["right"][pair[1]]]
    return probed_by_left, probed_by_right


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@pytest.mark.parametrize("cores", [1, 2, 5, 9])
def test_strict_order(windows: Any, cores: int) -> None:
    """`inner`: results of a stream's rows in the order of the rows, those of one row by the age of
    partners."""
    found, wanted = joined(11, LOOSE, windows, order="inner", cores=cores)
    assert by_prober(found, 11, 150) == by_prober(wanted, 11, 150)


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@pytest.mark.parametrize("cores", [2, 9])
def test_outer_order(windows: Any, cores: int) -> None:
    """`outer`: results of a stream's rows in the order of the rows."""
    found, wanted = joined(12, LOOSE, windows, order="outer", cores=cores)
    assert Counter(found) == Counter(wanted)
    by_left, by_right = by_prober(found, 12, 150)
    assert [left for left, _ in by_left] == sorted(left for left, _ in by_left)
    assert [right for _, right in by_right] == sorted(right for _, right in by_right)


@pytest.mark.parametrize("every", [1, 4])
def test_punctuations_say_what_has_been_read(every: int) -> None:
    """After a punctuation no result of an earlier row of its stream comes; of `every` rows there is one."""
    rng = random.Random(5)
    stream = arrivals(rng, 200)
    came: dict[str, list[int]] = {"left": [], "right": []}
    for number, row in enumerate(stream):
        came[row.side].append(number)
    said = {"left": -1, "right": -1}
    stars = Counter[str]()
    with join_of(LOOSE, WINDOWS[0], cores=3, order="outer", every=every) as join:
        for piece in pieces(rng, stream):
            join.push(**{piece[0].side: batch(piece)})
        join.settle()
        for item in join.punctuated():
            if isinstance(item, Punctuation):
                assert item.order >= said[item.side]
                said[item.side] = item.order
                stars[item.side] += 1
                continue
            for row in item.select(["t", "right_t"]).to_pylist():
                side = "left" if row["t"] > row["right_t"] else "right"
                if row["t"] != row["right_t"]:  # of the same instant: either may have come first
                    assert max(row.values()) >= stream[said[side]].time if said[side] >= 0 else True
    # One every `every` rows, and one for what is left when the join is settled.
    left_over = any(len(rows) % every for rows in came.values())
    assert stars == {side: len(rows) // every + left_over for side, rows in came.items()}


def test_results_are_rows_with_their_payload() -> None:
    join = SlidingJoin(
        "left.k == right.k",
        left=pa.schema([("k", pa.int64()), ("name", pa.string())]),
        right={"k": "int64", "price": "float64"},
        window=Window(rows=10),
    )
    with join:
        join.push(left=pa.table({"k": [1, 2, None], "name": ["a", "b", "c"]}))
        join.push(right={"k": 2, "price": 1.5})
        join.push(left={"k": 2, "name": "d"})
        table = join.finish()
    assert sorted(table.to_pylist(), key=lambda row: row["name"]) == [
        {"k": 2, "name": "b", "right_k": 2, "price": 1.5},
        {"k": 2, "name": "d", "right_k": 2, "price": 1.5},
    ]


def test_two_batches_are_taken_in_the_order_of_their_times() -> None:
    with join_of("left.x == right.a", (("rows", 1), ("rows", 1))) as join:
        join.push(
            left={"x": np.array([1, 1]), "y": np.zeros(2), "t": np.array([0, 20])},
            right={"a": np.array([1, 1]), "b": np.zeros(2), "t": np.array([10, 20])},
        )
        join.settle()
        # left 0, right 0, left 1 (left first where times are the same), right 1
        assert sorted(map(tuple, join.pairs().tolist())) == [(0, 0), (1, 0), (1, 1)]


@pytest.mark.parametrize("cores", [1, 4])
def test_numbers_that_are_none(cores: int) -> None:
    """NaN and null meet nobody and take their place in the window; infinity is a number."""
    with join_of("abs(left.y - right.b) <= 1", (("rows", 2), ("rows", 2)), cores=cores) as join:
        nan, inf = float("nan"), float("inf")
        join.push(right={"a": np.zeros(4, int), "b": np.array([1.0, inf, nan, 5.0]), "t": np.zeros(4, int)})
        join.push(left={"x": np.zeros(3, int), "y": np.array([inf, 5.5, nan]), "t": np.zeros(3, int)})
        join.push(left={"x": 0, "y": None, "t": 0})
        join.settle()
        assert sorted(map(tuple, join.pairs().tolist())) == [(1, 3)]  # infinity has left the window by then
    with join_of("abs(left.y - right.b) <= 1", (("rows", 9), ("rows", 9)), cores=cores) as join:
        join.push(right={"a": 0, "b": float("inf"), "t": 0})
        join.push(left={"x": 0, "y": 1e38, "t": 0})
        join.settle()
        assert len(join.pairs()) == 0


def test_a_window_of_no_rows_meets_nobody() -> None:
    for text in ("left.x == right.a", LOOSE):
        found, wanted = joined(1, text, (("rows", 0), ("rows", 3)), cores=3)
        assert Counter(found) == Counter(wanted)


@pytest.mark.parametrize("threads", [True, False])
def test_a_core_that_fails_takes_only_its_part(threads: bool) -> None:
    """What the others hold still meets, what the lost core held does not, and new rows are dealt among the
    others."""
    rows = 300
    with join_of("left.x == right.a", (("rows", 1000), ("rows", 1000)), cores=3, threads=threads) as join:
        join.push(left={"x": np.arange(rows), "y": np.zeros(rows), "t": np.zeros(rows, int)})
        join.flush()
        assert join.lose(1) == rows // 3
        join.push(right={"a": np.arange(rows), "b": np.zeros(rows), "t": np.zeros(rows, int)})
        join.push(left={"x": np.arange(rows), "y": np.zeros(rows), "t": np.zeros(rows, int)})
        join.settle()
        found = Counter(map(tuple, join.pairs().tolist()))
    kept = {(row, row) for row in range(rows) if row % 3 != 1}
    again = {(rows + row, row) for row in range(rows)}
    assert found == Counter(kept | again)
    assert join.lost == {1: rows // 3}


def test_an_error_in_a_core_is_a_loss_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with join_of("left.x == right.a", (("rows", 90), ("rows", 90)), cores=3, order="outer") as join:
        join.push(left={"x": np.arange(90), "y": np.zeros(90), "t": np.zeros(90, int)})
        join.flush()
        core = join.topology.cores[2]

        def broken(stop: object) -> None:
            raise RuntimeError("out of luck")

        monkeypatch.setattr(core, "run", broken)
        look_until(join, lambda: bool(join.lost))
        assert join.lost == {2: 30}
        join.push(right={"a": np.arange(90), "b": np.zeros(90), "t": np.zeros(90, int)})
        join.settle()
        assert len(join.pairs()) == 60


def look_until(join: SlidingJoin, done: Callable[[], bool]) -> None:
    """A core runs on for a pause's length before its thread comes to what a test has put in its place."""
    for _ in range(100_000):
        if done():
            return
        join.pairs()
        os.sched_yield()
    raise AssertionError("nobody noticed")


def test_when_all_cores_are_lost_the_join_ends() -> None:
    with join_of("left.x == right.a", WINDOWS[0], cores=2) as join:
        join.lose(0)
        with pytest.raises(RunError, match="all cores have failed"):
            join.lose(1)
        with pytest.raises(RunError, match="closed"):
            join.push(left={"x": 1, "y": 1.0, "t": 1})


@pytest.mark.parametrize("cores", [1, 2])
def test_results_that_nobody_reads_are_an_error_and_not_a_full_memory(cores: int) -> None:
    """Whoever reads then, and goes on, gets every pair."""
    rows, most = 2_000, 100_000
    with join_of(LOOSE, (("rows", 500), ("rows", 500)), most_pending=most, cores=cores) as join:
        join.push(left={"x": np.full(500, 100), "y": np.zeros(500), "t": np.zeros(500, int)})
        many = {"a": np.zeros(rows, int), "b": np.zeros(rows), "t": np.zeros(rows, int)}

        def push_on() -> None:
            join.push(right=many)
            join.flush()  # with threads a push may end before all its pairs are there

        with pytest.raises(RunError, match="have not been read"):
            push_on()
        found = Counter(map(tuple, join.pairs().tolist()))
        assert found.total() > most
        for _ in range(100):
            try:
                join.settle()
                break
            except RunError:
                found.update(map(tuple, join.pairs().tolist()))
        found.update(map(tuple, join.pairs().tolist()))
    assert found == Counter((left, right) for left in range(500) for right in range(rows))


def test_punctuations_become_rare_when_the_rate_is_not_held() -> None:
    """A target that nothing can hold leads to the fewest punctuations; results stay right."""
    rng = random.Random(2)
    stream = arrivals(rng, 3000)
    with join_of(LOOSE, WINDOWS[0], cores=2, order="outer", hold_rows_per_s=1e12) as join:
        assert join.precision is not None
        for piece in pieces(rng, stream):
            join.precision.waited, join.precision.began = True, join.precision.began - 1
            join.push(**{piece[0].side: batch(piece)})
        assert join.every == 4096
        join.settle()
        assert Counter(map(tuple, join.pairs().tolist())) == Counter(
            sliding_oracle.pairs(stream, *WINDOWS[0], PREDICATES[LOOSE])
        )


def test_groups_become_large_when_the_rate_is_not_held() -> None:
    """The same within a probe: partners still come by the age of their group, whatever it was then."""
    rng = random.Random(2)
    stream = arrivals(rng, 3000)
    with join_of(LOOSE, WINDOWS[0], cores=2, order="inner", group=3, hold_rows_per_s=1e12) as join:
        assert join.precision is not None
        found: list[tuple[int, int]] = []
        for piece in pieces(rng, stream):
            join.precision.waited, join.precision.began = True, join.precision.began - 1
            join.push(**{piece[0].side: batch(piece)})
        assert join.group == 3 * 4096
        join.settle()
        found += map(tuple, join.pairs().tolist())
    assert Counter(found) == Counter(sliding_oracle.pairs(stream, *WINDOWS[0], PREDICATES[LOOSE]))


def test_a_push_waits_only_when_the_inboxes_of_the_cores_are_full() -> None:
    """A full inlet is no reason to wait: the push itself hands its rows on to the cores."""
    numbers = np.arange(INBOX_ROWS + 400)
    with join_of(BAND, WINDOWS[0], cores=2, hold_rows_per_s=1.0, order="outer") as join:
        assert join.precision is not None
        join.precision.clock = lambda: 0.0  # no time passes, so `waited` is never reset
        join.precision.began = 0.0
        join.push(left={"x": numbers, "y": numbers, "t": numbers})
        assert not join.precision.waited


class _Flood:
    """A network that hands on nothing but results, as many as it may, for some steps; then the real one."""

    def __init__(self, join: SlidingJoin, steps: int) -> None:
        self._join, self._steps, self._real = join, steps, list(join.topology.network)
        self.waited: list[bool] = []
        join.topology.network[:] = [self]

    def step(self, budget: int) -> int:
        assert self._join.precision is not None
        self.waited.append(self._join.precision.waited)
        if len(self.waited) < self._steps:
            return budget
        self._join.topology.network[:] = self._real
        return 0


def test_a_push_does_not_wait_while_results_flow_as_fast_as_it_can_move_them() -> None:
    """Full inboxes are then its own doing: the cores wait for it to take their results away."""
    numbers = np.arange(INBOX_ROWS + 400)
    with join_of(BAND, WINDOWS[0], cores=2, hold_rows_per_s=1.0, order="outer") as join:
        assert join.precision is not None
        join.precision.clock = lambda: 0.0
        join.precision.began = 0.0
        flood = _Flood(join, steps=20)
        join.push(left={"x": numbers, "y": numbers, "t": numbers})
    assert flood.waited == [False] * 20


BAD: list[tuple[dict[str, Any], str]] = [
    ({"on": "left.z == right.a"}, "left.z, which is not there"),
    ({"on": "left.x == right.name"}, "cannot compare"),
    ({"on": "left.x == "}, "cannot be read"),
    ({"on": "left.x == other.y"}, "is not a column"),
    ({"on": "left.x == y"}, "neither left nor right"),
    ({"on": "__import__('os')"}, "has no place|not a function|not a number"),
    ({"on": "left.x == 'a'"}, "is not a number"),
    ({"design": "magic"}, "no design"),
    ({"cores": 0}, "cannot have 0 cores"),
    ({"cores": 2, "design": "kang"}, "cannot have 2 cores"),
    ({"window": None}, "needs a window"),
    ({"window": Window(time=3), "time": None}, "which column is the time"),
    ({"every": 0}, "count rows from 1"),
    ({"on": "left.x < right.a", "access": "cells"}, "need an equality or a band"),
]


@pytest.mark.parametrize(("options", "says"), BAD, ids=lambda value: str(value)[:40])
def test_what_cannot_be_is_refused_with_a_hint(options: dict[str, Any], says: str) -> None:
    right = pa.schema([("a", pa.int32()), ("name", pa.string())])
    given = {"on": "left.x == right.a", "window": Window(rows=3), "time": None, **options}
    with pytest.raises(SettingError, match=says) as caught:
        SlidingJoin(given.pop("on"), left={"x": "int32"}, right=right, **given)
    assert caught.value.hint


def test_windows_that_cannot_be() -> None:
    for wrong in ({}, {"rows": 1, "time": 1}, {"rows": -1}, {"time": -5}):
        with pytest.raises(SettingError, match="window"):
            Window(**wrong)  # type: ignore[arg-type]


def test_batches_that_do_not_fit() -> None:
    with join_of("left.x == right.a", (("time", 5), ("time", 5))) as join:
        for batch_, says in (
            ({"x": np.array([1]), "y": np.array([1.0])}, "no column t"),
            ({"x": np.array([1, 2]), "y": np.array([1.0]), "t": np.array([1])}, "unlike length"),
            ({"x": "one", "y": 1.0, "t": 1}, "cannot be 'one'"),
            ({"x": ["one"], "y": [1.0], "t": [1]}, "cannot be read"),
            (7, "cannot be a int"),
            (pa.table({"x": [1], "y": [1.0], "t": [None]}), "must be a whole number|does not fit"),
        ):
            with pytest.raises(InputError, match=says):
                join.push(left=batch_)
        join.push(left={"x": 1, "y": 1.0, "t": 9})
        with pytest.raises(InputError, match="time goes back"):
            join.push(right={"a": 1, "b": 1.0, "t": 8})
        join.push(right={"a": 1, "b": 1.0, "t": 9})  # what was refused has left no trace
        join.settle()
        assert join.pairs().tolist() == [[0, 0]]


def test_a_predicate_that_divides_by_zero_is_false_there() -> None:
    with join_of("10 / left.x > right.a", (("rows", 9), ("rows", 9))) as join:
        join.push(right={"a": 1, "b": 0.0, "t": 0})
        join.push(left={"x": np.array([0, 5, 50]), "y": np.zeros(3), "t": np.zeros(3, int)})
        join.settle()
        assert join.pairs().tolist() == [[1, 0]]
    with join_of(
        "left.x / left.x >= right.a or left.x / left.x < right.a", (("rows", 9), ("rows", 9))
    ) as join:
        join.push(right={"a": 1, "b": 0.0, "t": 0})
        join.push(left={"x": np.array([0, 5]), "y": np.zeros(2), "t": np.zeros(2, int)})
        join.settle()
        assert join.pairs().tolist() == [[1, 0]]


@pytest.mark.parametrize("design", ["kang", "handshake"])
def test_where_cores_need_each_other_a_failed_one_ends_the_join(
    design: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cores = 1 if design == "kang" else 2
    with join_of("left.x == right.a", WINDOWS[0], cores=cores, design=design, threads=True) as join:

        def broken(stop: object) -> None:
            raise RuntimeError("out of luck")

        monkeypatch.setattr(join.topology.cores[0], "run", broken)
        with pytest.raises(RunError, match="core 0 has failed: out of luck"):
            look_until(join, lambda: False)
