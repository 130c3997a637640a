"""The five workloads of *Parallelizing Intra-Window Join on Multicores* (section 4.2.1), real or generated.

Law: the same seed gives the same rows; a workload at its full size has the rows, and near enough the
matches, that the authors' harness has (the table in `PUBLISHED`).

Stock and Rovio are read from the authors' files where a folder with them is given. What is generated has
their statistics: of Stock the two lists of rows, keys and shares of the most frequent ones, and arrivals in
spikes; of Rovio 160 keys whose frequencies fall off as a bell does, and a hundred rows at a time.
Everything may be scaled down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int32]
Times = NDArray[np.int64]
WINDOW_MS = 1000

PUBLISHED = {
    "stock": (60_527, 77_227, 15_598_112),
    "rovio": (2_873_604, 2_873_604, 87_856_849_382),
    "ysb": (1_000, 10_000_000, 10_000_000),
    "debs": (1_000_000, 1_000_000, 251_033_140),
}
"""Left rows, right rows and matches, as published with the authors' harness."""


@dataclass(frozen=True)
class Window:
    """Two sides of one window, with times of arrival in microseconds; none where all is at rest."""

    name: str
    left: Keys
    right: Keys
    left_us: Times | None = None
    right_us: Times | None = None

    @property
    def rows(self) -> int:
        return len(self.left) + len(self.right)

    @property
    def window_ms(self) -> float | None:
        ends = [int(times[-1]) for times in (self.left_us, self.right_us) if times is not None and len(times)]
        return max(ends) / 1000 if ends and max(ends) else None

    @property
    def matches(self) -> int:
        """Counted by sorting, without any of the joins that are measured."""
        keys, counts = np.unique(self.left, return_counts=True)
        at = np.searchsorted(keys, self.right)
        found = (at < len(keys)) & (keys[np.minimum(at, len(keys) - 1)] == self.right)
        return int(counts[at[found]].sum()) if len(keys) else 0

    def at_rest(self) -> Window:
        return Window(self.name, self.left, self.right)


@dataclass(frozen=True)
class Micro:
    """The synthetic workload: rate of each side, key skew, time skew, duplicates, window length."""

    left_per_ms: int = 12_800
    right_per_ms: int = 12_800
    window_ms: int = WINDOW_MS
    duplicates: int = 1
    key_skew: float = 0.0
    right_alone: bool = False  # are the keys of S alone skewed?
    time_skew: float = 0.0
    seed: int = 1
    at_rest: bool = False

    def make(self, name: str = "micro") -> Window:
        rng = np.random.default_rng(self.seed)
        sizes = self.left_per_ms * self.window_ms, self.right_per_ms * self.window_ms
        keys = max(1, max(sizes) // self.duplicates)
        skews = (0.0 if self.right_alone else self.key_skew, self.key_skew)
        sides = [_keys(rng, size, keys, skew) for size, skew in zip(sizes, skews, strict=True)]
        if self.at_rest:
            return Window(name, *sides)
        times = [_times(rng, size, self.window_ms, self.time_skew) for size in sizes]
        return Window(name, *sides, *times)


def _keys(rng: np.random.Generator, rows: int, keys: int, skew: float) -> Keys:
    """Each key equally often, in no order; with skew, drawn by Zipf's law."""
    if not skew:
        return rng.permutation(np.arange(rows) % keys).astype(np.int32)
    return _zipf(rng, rows, keys, skew).astype(np.int32)


def _zipf(rng: np.random.Generator, rows: int, values: int, skew: float) -> NDArray[np.int64]:
    """0 is the most frequent value."""
    reached = np.cumsum(np.arange(1, values + 1, dtype=np.float64) ** -skew)
    return np.searchsorted(reached, rng.random(rows) * reached[-1])


def _times(rng: np.random.Generator, rows: int, window_ms: int, skew: float) -> Times:
    """Evenly over the window; with skew, early milliseconds have more rows."""
    if not skew:
        return (np.arange(rows) * (window_ms * 1000) // max(1, rows)).astype(np.int64)
    return np.sort(_zipf(rng, rows, window_ms, skew)) * 1000


def stock(scale: float = 1.0, folder: Path | None = None, seed: int = 1) -> Window:
    """Trades (left) and quotes (right) of stocks: slow, skewed, in spikes."""
    if folder is not None and scale == 1.0:
        files = [folder / "stock" / f"{name}_1000ms_1t.txt" for name in ("cj", "sb")]
        if all(path.exists() for path in files):
            read = [np.loadtxt(path, np.int64, delimiter="|") for path in files]
            sides = [table[:, 0].astype(np.int32) for table in read]
            times = [np.sort(table[:, 1]) * 1000 for table in read]
            return Window("stock", *sides, *times)
    rng = np.random.default_rng(seed)
    names = rng.integers(1, 100_000_000, 1000)
    sides, times = [], []
    for full, keys, skew, spikes in ((60_527, 894, 0.635, 74), (77_227, 984, 0.585, 84)):
        rows = max(1, int(full * scale))
        sides.append(names[_zipf(rng, rows, keys, skew)].astype(np.int32))
        at = np.sort(rng.choice(WINDOW_MS - 7, min(spikes, WINDOW_MS - 7), replace=False))
        weights = rng.pareto(1.5, len(at)) + 0.2
        times.append(np.sort(rng.choice(at, rows, p=weights / weights.sum())) * 1000)
    return Window("stock", *sides, *times)


def rovio(scale: float = 1.0, folder: Path | None = None, seed: int = 1) -> Window:
    """Advertisements and purchases: few keys, very many rows of each. The authors' file is a short extract,
    so its keys are taken from there and drawn as often as the rows of the whole."""
    rng = np.random.default_rng(seed)
    users = rng.integers(1, 90_000_000, 160)
    path = folder / "rovio" / "6s_1t.txt" if folder is not None else None
    if path is not None and path.exists():
        users = np.unique(np.loadtxt(path, np.int64, delimiter="|", usecols=0))
    rows = max(1, int(PUBLISHED["rovio"][0] * scale))
    steps = np.arange(rows) // 100  # a hundred rows at a time
    times = (steps * (WINDOW_MS * 1000) // max(1, int(steps[-1]) + 1)).astype(np.int64)
    weights = np.exp(-((np.arange(len(users)) / 75) ** 2))  # as often as those of the extract, by rank
    sides = [rng.choice(users, rows, p=weights / weights.sum()).astype(np.int32) for _ in range(2)]
    return Window("rovio", *sides, times, times.copy())


def ysb(scale: float = 1.0, folder: Path | None = None, seed: int = 1) -> Window:
    """Campaigns at rest, each once, and the advertisements that come for them."""
    rng = np.random.default_rng(seed)
    campaigns = rng.permutation(1_000).astype(np.int32)
    rows = max(1, int(PUBLISHED["ysb"][1] * scale))
    ads = rng.integers(0, 1_000, rows).astype(np.int32)
    return Window("ysb", campaigns, ads, np.zeros(1_000, np.int64), _times(rng, rows, WINDOW_MS, 0.0))


def debs(scale: float = 1.0, folder: Path | None = None, seed: int = 1) -> Window:
    """Posts and comments at rest: users that write much, and many that write little. The skew and the
    number of users are such that the matches come near the published ones."""
    rng = np.random.default_rng(seed)
    rows, users = max(1, int(1_000_000 * scale)), max(1, int(5_570 * scale))
    sides = [_zipf(rng, rows, users, 0.37).astype(np.int32) for _ in range(2)]
    return Window("debs", *sides)


def micro(scale: float = 1.0, folder: Path | None = None, seed: int = 1) -> Window:
    return Micro(int(12_800 * scale), int(12_800 * scale), seed=seed).make()


WORKLOADS: dict[str, Callable[[float, Path | None, int], Window]] = {
    "stock": stock,
    "rovio": rovio,
    "ysb": ysb,
    "debs": debs,
    "micro": micro,
}
