"""Every design of the sliding-window join: exactly the oracle's pairs, each once, whatever the windows, the
predicate, the number of cores and the order in which the parts of the design get their turns."""

import random
import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import sliding_oracle as oracle
from dovetail.model.sliding import Window
from dovetail.sliding.cell_join import CellJoin
from dovetail.sliding.designs import DESIGNS
from dovetail.sliding.driver import Driver
from dovetail.sliding.encoding import Encoding
from dovetail.sliding.expression import parsed
from dovetail.sliding.handshake import Handshake
from dovetail.sliding.kernels.layout import PAIR_KIND, PAIR_ORDER, PAIR_R, PAIR_S, PAIR_WORDS
from dovetail.sliding.split_join import SplitJoin
from dovetail.sliding.topology import SlidingJob
from laws.effort import by_turns, examples

LEFT = {"x": np.int32, "y": np.float32}
RIGHT = {"a": np.int32, "b": np.float32}
PREDICATES = {
    "left.x == right.a": lambda left, right: left["x"] == right["a"],
    "abs(left.x - right.a) <= 2 and abs(left.y - right.b) <= 3": lambda left, right: (
        abs(left["x"] - right["a"]) <= 2 and abs(left["y"] - right["b"]) <= 3
    ),
    "left.x < right.a and left.y >= right.b - 3": lambda left, right: (
        left["x"] < right["a"] and left["y"] >= right["b"] - 3
    ),
    "left.x * 2 > right.a + left.y": lambda left, right: left["x"] * 2 > right["a"] + left["y"],
}
# By name: what makes the design, given the job and a source of choices that its results must not depend on.
MAKERS = {name: lambda job, _, design=design: design(job) for name, design in DESIGNS.items()}
MAKERS["handshake, merging blocks"] = lambda job, chance: Handshake(job, block_rows=chance.choice([2, 4, 16]))
MAKERS["cell, any cuts"] = lambda job, chance: CellJoin(
    replace(job, batch_rows=chance.choice([1, 3, 64]), basic_rows=chance.choice([1, 4, 100]))
)
MAKERS["split, dealing batches"] = lambda job, chance: SplitJoin(
    replace(job, deal_rows=chance.choice([2, 7, 64]))
)


@dataclass
class Stream:
    """Rows of both sides, in the order in which they come."""

    rights: np.ndarray
    times: np.ndarray
    keys: np.ndarray
    values: np.ndarray

    def columns(self, side):
        which = self.rights if side == "right" else ~self.rights
        names = RIGHT if side == "right" else LEFT
        return dict(zip(names, (self.keys[which], self.values[which]), strict=True))

    def arrivals(self):
        for right, time, key, value in zip(self.rights, self.times, self.keys, self.values, strict=True):
            names = RIGHT if right else LEFT
            row = dict(zip(names, (int(key), float(value)), strict=True))
            yield oracle.Arrival("right" if right else "left", int(time), row)


def stream(rows):
    """For (side, time since the last, key, value)."""
    sides, waits, keys, values = ([row[n] for row in rows] for n in range(4))
    return Stream(
        np.array([side == "r" for side in sides], bool),
        np.cumsum(np.array(waits, np.int64)),
        np.array(keys, np.int32),
        np.array(values, np.float32),
    )


def encoded(rows, predicate, access):
    types = [{name: np.dtype(kind) for name, kind in side.items()} for side in (LEFT, RIGHT)]
    encoding = Encoding(parsed(predicate), *types, access)
    messages = np.zeros((len(rows.rights), encoding.layout.words), np.int64)
    for side, which in (("left", ~rows.rights), ("right", rows.rights)):
        messages[which] = encoding.messages(side, rows.columns(side), None, which.sum())
    return encoding, messages


def numbered(design, job, rows, messages):
    made = messages.copy()
    Driver(job, design.wants_first).number(made, rows.times)
    return made


def stepped(design, messages, chance) -> list[list[Any]]:
    """All results, with parts, offers and looks at the outlet in an order of chance."""
    parts = [*design.network, *design.cores]
    taken = np.zeros((8, PAIR_WORDS), np.int64)
    out, offered, finished, turns = [], 0, False, 0
    while True:
        if offered < len(messages):
            until = min(offered + chance.randint(0, 8), len(messages))
            offered += design.offer(messages[:until], offered)
        for part in chance.sample(parts, chance.randint(1, len(parts))):
            part.step(chance.randint(1, 4))
        count = design.take_pairs(taken[: chance.randint(0, 8)]) if chance.random() < 0.9 else 0
        out += taken[:count].tolist()
        if offered == len(messages):
            finished = finished or design.finish()
            if finished and count == 0 and design.settled() and design.take_pairs(taken[:0]) == 0:
                rest = design.take_pairs(taken)
                out += taken[:rest].tolist()
                if rest == 0:
                    return out
        turns += 1
        assert turns < 50_000, "stuck"


def pairs_of(results):
    return sorted((result[PAIR_R], result[PAIR_S]) for result in results)


sizes = st.sampled_from([0, 1, 2, 3, 7, 40])
windows = st.tuples(st.sampled_from(["rows", "time"]), sizes)
values = st.floats(0, 8, width=16) | st.just(float("nan"))
streams = st.lists(
    st.tuples(st.sampled_from("lr"), st.integers(0, 2), st.integers(0, 6), values), max_size=45
)


@examples(usual=100, thorough=3000)
@given(
    streams,
    windows,
    windows,
    st.sampled_from(list(PREDICATES)),
    st.sampled_from(["auto", "scan"]),
    st.integers(1, 5),
    st.sampled_from([2, 4, 16]),
    st.integers(0, 2**32),
)
@pytest.mark.parametrize("name", MAKERS)
def test_pairs_are_those_of_the_oracle(name, rows, left, right, predicate, access, cores, room, seed):
    rows = stream(rows)
    expected = sorted(oracle.pairs(list(rows.arrivals()), left, right, PREDICATES[predicate]))
    encoding, messages = encoded(rows, predicate, access)
    chance = random.Random(seed)
    job = SlidingJob(
        encoding,
        *(Window(**{kind: size}) for kind, size in (left, right)),
        cores=1 if name == "kang" else cores,
        inbox_rows=room,
        outbox_pairs=chance.choice([2, 16]),
        together=chance.random() < 0.8,
    )
    design = MAKERS[name](job, chance)
    results = stepped(design, numbered(design, job, rows, messages), chance)
    note(f"schedule of seed {seed}")
    assert pairs_of(results) == expected
    tell_who_came_last(rows, results)


def tell_who_came_last(rows, results):
    """For each result: the side of its later row, and when that came."""
    came = [np.flatnonzero(~rows.rights), np.flatnonzero(rows.rights)]
    for result in results:
        arrived = [int(came[0][result[PAIR_R]]), int(came[1][result[PAIR_S]])]
        assert result[PAIR_ORDER] == max(arrived)
        assert result[PAIR_KIND] == arrived.index(max(arrived))


def crowd(seed, count):
    """Many rows, a burst of one side now and then."""
    chance = random.Random(seed)
    rows, side = [], "l"
    for _ in range(count):
        if chance.random() < 0.3:
            side = chance.choice("lr")
        rows.append((side, chance.randint(0, 2), chance.randint(0, 30), chance.random() * 8))
    return stream(rows)


MANY = [name for name in MAKERS if name not in ("kang", "split")]


@pytest.mark.parametrize(
    ("name", "look"),
    by_turns(MANY, last=((Window(rows=1500), "auto"), (Window(time=900), "scan"))),
    ids=lambda given: given if isinstance(given, str) else given[1],
)
def test_with_a_thread_a_core(name, look):
    """More rows than the first windows and channels hold, on real threads."""
    (left, access), seed = look, 5
    rows = crowd(seed, 4000)
    right = Window(rows=700)
    encoding, messages = encoded(rows, "left.x == right.a", access)
    alone = SlidingJob(encoding, left, right)
    expected = pairs_of(threaded(DESIGNS["kang"](alone), numbered(DESIGNS["kang"], alone, rows, messages)))
    job = SlidingJob(encoding, left, right, cores=3, inbox_rows=64, outbox_pairs=64)
    design = MAKERS[name](job, random.Random(seed))
    results = threaded(design, numbered(design, job, rows, messages))
    assert len(expected) > 10_000
    assert pairs_of(results) == expected


def threaded(design, messages):
    stop = np.zeros(1, np.int64)

    def turns(core):
        while not stop[0]:
            core.run(stop)

    threads = [threading.Thread(target=turns, args=(core,), daemon=True) for core in design.cores]
    for thread in threads:
        thread.start()
    out, offered, finished = [], 0, False
    taken = np.zeros((4096, PAIR_WORDS), np.int64)
    while True:
        offered += design.offer(messages, offered)
        for part in design.network:
            part.step(1 << 20)
        count = design.take_pairs(taken)
        out += taken[:count].tolist()
        if offered < len(messages):
            continue
        finished = finished or design.finish()
        if finished and count == 0 and design.settled():
            rest = design.take_pairs(taken)
            if rest == 0:
                break
            out += taken[:rest].tolist()
    stop[0] = 1
    for thread in threads:
        thread.join()
    return out
