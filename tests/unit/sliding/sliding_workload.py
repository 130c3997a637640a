"""Streams for sliding-window joins, and predicates with what they mean in Python."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from sliding_oracle import Arrival, Row

BAND = "abs(left.x - right.a) <= 10 and abs(left.y - right.b) <= 10"
LOOSE = "left.x * 2 > right.a + left.y"
PREDICATES: dict[str, Callable[[Row, Row], bool]] = {
    BAND: lambda left, right: abs(left["x"] - right["a"]) <= 10 and abs(left["y"] - right["b"]) <= 10,
    LOOSE: lambda left, right: left["x"] * 2 > right["a"] + left["y"],
    "left.x == right.a": lambda left, right: left["x"] == right["a"],
    "left.x == right.a and left.y < right.b": lambda left, right: (
        left["x"] == right["a"] and left["y"] < right["b"]
    ),
    "left.x < right.a and left.y >= right.b - 3": lambda left, right: (
        left["x"] < right["a"] and left["y"] >= right["b"] - 3
    ),
    "(left.x - right.a) % 7 == 0 or left.y > 55": lambda left, right: (
        (left["x"] - right["a"]) % 7 == 0 or left["y"] > 55
    ),
    "0 <= left.y - right.b < 4 and left.x != right.a": lambda left, right: (
        0 <= left["y"] - right["b"] < 4 and left["x"] != right["a"]
    ),
}
LEFT = {"x": "int32", "y": "float32", "t": "int64"}
RIGHT = {"a": "int32", "b": "float32", "t": "int64"}


def arrivals(rng: random.Random, rows: int, spread: int = 30) -> list[Arrival]:
    made, now = [], 0
    for _ in range(rows):
        side = rng.choice(("left", "right"))
        first, second = ("x", "y") if side == "left" else ("a", "b")
        now += rng.choice((0, 0, 1, 2))
        value = float(np.float32(rng.uniform(0, 2 * spread)))
        made.append(Arrival(side, now, {first: rng.randint(-spread, spread), second: value, "t": now}))
    return made


def pieces(rng: random.Random, rows: list[Arrival]) -> list[list[Arrival]]:
    """Runs of rows of one stream, cut at random: what is pushed at a time."""
    cut: list[list[Arrival]] = []
    for row in rows:
        if cut and cut[-1][-1].side == row.side and rng.random() < 0.8:
            cut[-1].append(row)
        else:
            cut.append([row])
    return cut


def batch(piece: list[Arrival]) -> dict[str, object]:
    """As a mapping of arrays, or of single values where it is one row."""
    if len(piece) == 1:
        return dict(piece[0].row)
    return {name: np.array([row.row[name] for row in piece]) for name in piece[0].row}
