"""The kinds of traffic that `bench latency` sends, each with what is special about its run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from bench.latency_places import Place
from bench.live_traffic import BLOCK_S, Traffic

Part = Literal[
    "rates", "lone", "uneven", "burst", "many", "restart", "windowed", "theta", "chain", "s3", "cluster"
]
Shape = Literal["interval", "windowed", "theta", "chain"]
PARTS: tuple[Part, ...] = get_args(Part)
LOW, MIDDLE, HIGH = 200, 2_000, 20_000
SMALL_APPLICATIONS = 10
ONLY_PQL = ("pql",)
_SHAPES = {"windowed": "tumbling windows", "theta": "no equality", "chain": "three streams"}
_PLACES = {"s3": "home on S3", "cluster": "two workers"}


@dataclass(frozen=True)
class Case:
    """One kind of traffic. `warm_up_s`: what does not count; `restart_at`: the process is killed after that
    number of files, and the next one goes on; `systems`: those that run it, where not all of them can."""

    part: Part
    label: str
    traffic: Traffic
    warm_up_s: float
    how: Literal["inner", "left"] = "inner"
    applications: int = 1
    restart_at: int | None = None
    shape: Shape = "interval"
    place: Place = "here"
    systems: tuple[str, ...] = ()


def cases(args: argparse.Namespace, rates: list[int]) -> Iterator[Case]:
    total_s = args.warm_up + args.seconds
    steady = Traffic(MIDDLE, MIDDLE, total_s, args.every, seed=args.seed)
    for part in args.part or ("rates",):
        match part:
            case "rates":
                for rate in rates:
                    traffic = replace(steady, left_per_s=rate, right_per_s=rate)
                    yield Case(part, f"{rate:,} rows/s", traffic, args.warm_up)
            case "lone":
                # Pairs are up to a block apart, so this is the narrowest window that finds all of them.
                traffic = replace(steady, window_s=BLOCK_S, lone_share=0.1)
                yield Case(part, f"{MIDDLE:,} rows/s, 10 % alone", traffic, args.warm_up, how="left")
            case "uneven":
                traffic = replace(steady, left_per_s=LOW, right_per_s=HIGH)
                yield Case(part, f"{LOW:,} left, {HIGH:,} right", traffic, args.warm_up)
            case "burst":
                traffic = replace(
                    steady,
                    seconds=total_s + args.idle,
                    idle_from_s=args.warm_up,
                    idle_s=args.idle,
                    burst_s=BLOCK_S,
                )
                label = f"{BLOCK_S:g} s of {MIDDLE:,} rows/s at once, after {args.idle:g} s"
                yield Case(part, label, traffic, args.warm_up + args.idle)
            case "many":
                traffic = replace(steady, left_per_s=LOW, right_per_s=LOW)
                label = f"{SMALL_APPLICATIONS} applications, {LOW} rows/s each"
                yield Case(part, label, traffic, args.warm_up, applications=SMALL_APPLICATIONS)
            case "restart":
                half = steady.files // 2
                yield Case(part, f"{MIDDLE:,} rows/s, after a restart", steady, 0.0, restart_at=half)
            case "windowed" | "theta" | "chain":
                label = f"{MIDDLE:,} rows/s, {_SHAPES[part]}"
                yield Case(part, label, steady, args.warm_up, shape=part, systems=ONLY_PQL)
            case "s3" | "cluster":
                label = f"{MIDDLE:,} rows/s, {_PLACES[part]}"
                yield Case(part, label, steady, args.warm_up, place=part, systems=ONLY_PQL)
