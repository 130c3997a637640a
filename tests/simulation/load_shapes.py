"""Load shapes for the scaler, drawn from a seed: steps, daily waves, bursts, one side that lags, a hot
key."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from dovetail.service.scaler.sample import TaskLimits
from dovetail.service.scaler.simulate import Load, System

DAY_S = 86_400.0


@dataclass(frozen=True)
class Shape:
    kind: str
    load: Load
    system: System
    limits: TaskLimits
    seconds: float
    peak: float


def shape(seed: int) -> Shape:
    random = Random(seed)
    kind, make = list(KINDS.items())[seed % len(KINDS)]
    one = random.uniform(1_000, 50_000)
    most = random.choice([2, 4, 8, 16, 64])
    peak = random.uniform(0.05, 0.65) * one * most  # what the tasks together can take with some room
    load, seconds = make(random, peak)
    hot = random.uniform(0.3, 0.9) if kind == "hot key" else 0.0
    lags = random.randrange(1, 10**7) if kind == "lagging side" else 0
    system = System(one, hot_share=hot, lags=lags, noise=random.uniform(0, 0.2))
    return Shape(kind, load, system, TaskLimits(1, most), seconds, peak)


def _split(random: Random, rate: Callable[[float], float]) -> Load:
    left = random.uniform(0.05, 0.95)
    return lambda at_s: (rate(at_s) * left, rate(at_s) * (1 - left))


def _steps(random: Random, peak: float) -> tuple[Load, float]:
    levels = [random.uniform(0.05, 1) * peak for _ in range(4)]
    every_s = random.uniform(3_600, 10_000)
    return _split(random, lambda at_s: levels[min(3, int(at_s / every_s))]), every_s * 4


def _wave(random: Random, peak: float) -> tuple[Load, float]:
    low, phase = random.uniform(0.02, 0.5), random.uniform(0, DAY_S)

    def rate(at_s: float) -> float:
        return peak * (low + (1 - low) * (0.5 + 0.5 * math.sin(2 * math.pi * (at_s + phase) / DAY_S)))

    return _split(random, rate), 2 * DAY_S


def _bursts(random: Random, peak: float) -> tuple[Load, float]:
    every_s, long_s, low = random.uniform(1_800, 7_200), random.uniform(20, 900), random.uniform(0.02, 0.3)
    return _split(random, lambda at_s: peak if at_s % every_s < long_s else low * peak), 6 * 3_600.0


def _flat(random: Random, peak: float) -> tuple[Load, float]:
    return _split(random, lambda at_s: peak), 3 * 3_600.0


KINDS: dict[str, Callable[[Random, float], tuple[Load, float]]] = {
    "steps": _steps,
    "daily wave": _wave,
    "bursts": _bursts,
    "lagging side": _flat,
    "hot key": _flat,
}
