"""Laws of time and pacing over graphs of joins, on schedules drawn at random.

A failure names its seed: `SEED=17 pytest tests/simulation/test_graphs.py` tries that one alone. Usual runs
try the same seeds; `HYPOTHESIS_PROFILE=thorough` tries ten times as many: more than ten thousand graphs.
"""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from dovetail.model.join_settings import Pacing
from dovetail.time.coordinator import Pace
from simulation.graph_model import Graph, JoinNode, Row, Source, Stream, batch, found
from simulation.test_schedules import hold, seeds

SHAPES = ("chain 2", "chain 3", "chain 5", "twice", "diamond", "shared")
HOWS = ("inner", "left", "right", "full")


def drawn(seed: int, *, disorder: str = "below", paced: bool | None = None, silent: bool = False) -> Graph:
    """`disorder`: of the inputs, below what is promised or beyond it. `silent`: an input stops early, and
    nobody says that it is over."""
    rng = random.Random(seed)
    shape = SHAPES[seed % len(SHAPES)]
    delay = rng.choice([0, 5, 20])
    paces = paced if paced is not None else rng.random() < 0.5
    # Without believed promises of its own, an input's time is `delay` behind its newest row.
    pace = Pace(
        delay,
        delay,
        max_step_rows=rng.choice([1, 5, 40]),
        tasks=1,
        pacing=Pacing(rng.choice([0, 10]), 1) if paces else None,
        inherits=(True, True),
    )
    most = delay if disorder == "below" else delay + 40
    graph = _shape(rng, shape, pace, lambda name: _source(rng, name, most))
    if silent:
        stopped = rng.choice(graph.sources)
        del stopped.commits[len(stopped.commits) // 2 :]
        graph.silent.add(stopped.stream.name)
    return graph


def _shape(rng: random.Random, shape: str, pace: Pace, source) -> Graph:  # type: ignore[no-untyped-def]
    sources: list[Source] = []
    joins: list[JoinNode] = []

    def given(name: str) -> Stream:
        sources.append(source(name))
        return sources[-1].stream

    def joined(left: Stream, right: Stream) -> Stream:
        how = rng.choice(HOWS)
        before, after = rng.choice([0, 5, 15]), rng.choice([0, 5, 15])
        keeps = "left" if how in ("inner", "left") else "either"
        output = Stream(f"j{len(joins)}.out", left.width + right.width)
        own = pace._replace(after_us=after)
        joins.append(JoinNode(f"j{len(joins)}", left, right, how, before, after, own, keeps, output))
        return output

    if shape.startswith("chain"):
        at = given("a")
        for name in "bcdef"[: int(shape.split()[1])]:
            other = given(name)
            at = joined(at, other) if rng.random() < 0.8 else joined(other, at)
    elif shape == "twice":
        a = given("a")
        joined(joined(a, a), given("b"))
    elif shape == "diamond":
        first = joined(given("a"), given("b"))
        joined(joined(first, given("c")), joined(first, given("d")))
    else:  # one input in three joins
        a = given("a")
        one, two = joined(a, given("b")), joined(given("c"), a)
        joined(joined(one, two), a)
    return Graph(sources, joins, set())


def _source(rng: random.Random, name: str, disorder: int) -> Source:
    rows, time = [], 0
    for number in range(rng.randint(1, 14)):
        time += rng.choice([0, 1, 3, 10])
        rows.append((time + rng.randint(0, disorder), Row(rng.randint(0, 2), time, (f"{name}{number}",))))
    arrivals = [row for _, row in sorted(rows, key=lambda pair: pair[0])]
    commits = []
    while arrivals:
        size = rng.choice([1, 2, 5])
        commits.append(arrivals[:size])
        arrivals = arrivals[size:]
    return Source(Stream(name, 1), commits)


@pytest.mark.parametrize("chunk", range(8))
def test_a_graph_is_as_exact_as_its_inputs(chunk: int) -> None:
    """With disorder below what the inputs' times allow for, no row is late anywhere, no promise is broken,
    times ascend, and what comes out in the end is the batch result."""

    def laws(seed: int) -> None:
        graph = drawn(seed)
        # Idle streams are carried forward, and rows behind that are late: only without pacing none is.
        idles = any(join.pace.pacing for join in graph.joins)
        graph.run(random.Random(seed + 1))
        sound(graph)
        graph.drain()
        if not idles:
            assert [join.late for join in graph.joins if join.late] == [], "a row is late"
            assert found(graph) == batch(graph), "not the batch result"
        named(graph)

    hold(seeds(chunk), laws)


@pytest.mark.parametrize("chunk", range(4))
def test_what_is_missing_has_a_reason(chunk: int) -> None:
    """With any disorder and pacing, each combination that is missing contains a row that was counted late."""

    def laws(seed: int) -> None:
        graph = drawn(seed, disorder="beyond")
        graph.run(random.Random(seed + 1))
        sound(graph)
        graph.drain()
        named(graph)

    hold(seeds(chunk), laws)


@pytest.mark.parametrize("chunk", range(4))
def test_nobody_is_stuck(chunk: int) -> None:
    """When the inputs are over and say so, every row that came is taken, with pacing too. Behind an input
    that stopped without a word only those wait who wait for it, and a drain ends that."""

    def laws(seed: int) -> None:
        graph = drawn(seed, paced=True)
        graph.run(random.Random(seed + 1))
        assert [join.name for join in graph.joins if join.unread()] == [], "somebody waits for nobody"
        graph = drawn(seed, paced=True, silent=True)
        graph.run(random.Random(seed + 1))
        sound(graph)
        for join in graph.joins:
            if join.unread():
                assert reached(graph, join) & graph.silent, f"{join.name} waits, and for nobody who is silent"
        graph.drain()
        assert not any(join.unread() for join in graph.joins)
        named(graph)

    hold(seeds(chunk), laws)


def sound(graph: Graph) -> None:
    for join in graph.joins:
        assert not join.broken, join.broken[0]
        assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(join.times)), "a time goes back"
        assert all(a <= b for a, b in pairwise(join.promises)), "a promise goes back"


def named(graph: Graph) -> None:
    """Nothing is lost or too much for a reason that is not counted: it contains a late row, a partner of one,
    or a partner of a partner, which came out otherwise because of it."""
    late = {id_ for join in graph.joins for one in join.late for id_ in one.row.ids if id_}
    wanted, got = batch(graph), found(graph)
    affected = related(late, [set(ids) for join in (*wanted, *got) for ids in join])
    for row in set(wanted[-1]) ^ set(got[-1]):
        assert affected & set(row), f"{row} is missing or too much, and no row of it was late"


def related(late: set[str], rows: list[set[str | None]]) -> set[str | None]:
    affected: set[str | None] = set(late)
    for _ in range(3):
        affected |= {id_ for row in rows if affected & row for id_ in row if id_}
    return affected


def reached(graph: Graph, join: JoinNode) -> set[str]:
    """The inputs above and below a join: those that it waits for, or whose readers it waits for."""
    todo, seen = [join], set()
    names: set[str] = set()
    while todo:
        at = todo.pop()
        if at.name in seen:
            continue
        seen.add(at.name)
        names |= {source.stream.name for source in graph.sources if source.stream in (at.left, at.right)}
        todo += [other for other in graph.joins if other.output in (at.left, at.right)]
        todo += graph.readers(at)
    return names


def test_the_graphs_try_it_all() -> None:
    """Lateness, waiting for readers, and results of every width come up."""
    graphs = [drawn(seed, disorder="beyond", paced=True) for seed in range(60)]
    for seed, graph in enumerate(graphs):
        graph.run(random.Random(seed + 1))
        graph.drain()
    assert any(join.late for graph in graphs for join in graph.joins)
    assert {graph.joins[-1].output.width for graph in graphs} >= {3, 4, 6}
    results = [ids for graph in graphs for ids in found(graph)[-1]]
    assert sum(None in ids for ids in results) > 100
    assert sum(None not in ids for ids in results) > 100
