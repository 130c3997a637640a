"""What is simulated: a design, its cores and trees, the window, the order kept, the machine, the arrivals.

Law: a setup that was built can be simulated; what makes no sense is refused when it is built.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import SettingError

Design = Literal["kang", "cell", "handshake", "low-latency", "split"]
"""Kang's three steps on one core; CellJoin; handshake join; low-latency handshake join; SplitJoin."""
DESIGNS: tuple[Design, ...] = get_args(Design)
MOST_CORES = 1024
Pattern = Literal["steady", "poisson", "bursts"]
Placement = Literal["neighbours", "scattered"]
"""For join cores over NUMA regions: a stretch of neighbours in each, or in turn."""
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_SIZES = "rows (131072, 2^17) or a length of time (30s, 15min, 1h)"


@dataclass(frozen=True)
class WindowSize:
    """The window of each stream, by rows or by seconds. Exactly one of the two is set."""

    rows: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        given = [size for size in (self.rows, self.seconds) if size is not None]
        if len(given) != 1 or not 0 < given[0] < math.inf:
            raise SettingError(f"{self.rows} rows, {self.seconds} s: no window", expected=_SIZES)

    @property
    def timed(self) -> bool:
        return self.seconds is not None

    def held(self, rows_per_s: float, right_later_s: float = 0.0) -> tuple[float, float]:
        """Rows that the left and the right window hold when a row of the other stream scans them.

        A right stream that comes `right_later_s` after its event times finds left rows of its window and all
        that came since; left rows find that much less (active expiration goes by event times).
        """
        if self.seconds is None:
            return float(self.rows or 0), float(self.rows or 0)
        each = rows_per_s / 2
        return (
            each * max(0.0, self.seconds + right_later_s),
            each * max(0.0, self.seconds - right_later_s),
        )

    def __str__(self) -> str:
        if self.rows is not None:
            power = self.rows.bit_length() - 1
            return f"2^{power}" if power >= 4 and self.rows == 1 << power else f"{self.rows}"
        seconds = self.seconds or 0.0
        return f"{seconds / 60:g}min" if seconds >= 60 else f"{seconds:g}s"


def parse_window(text: str) -> WindowSize:
    power = re.fullmatch(r"(\d{1,3})\^(\d{1,2})", text)
    if power:
        return WindowSize(rows=int(power[1]) ** int(power[2]))
    length = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)(s|min|h)", text)
    if length:
        return WindowSize(seconds=float(length[1]) * _UNITS[length[2]])
    if text.isdecimal():
        return WindowSize(rows=int(text))
    raise SettingError(f"{text!r} is not a window", where="--window", expected=_SIZES)


@dataclass(frozen=True)
class Ordering:
    """How much of the results' order is kept, and how many stars that takes (SplitJoin, section 5.1).

    | written | the paper's name | a core emits a star |
    |---|---|---|
    | `none` | no ordering | never |
    | `outer:N` | relaxed outer ordering | after N rows of a stream |
    | `outer` | strict outer = relaxed inner ordering | after each row |
    | `inner:N` | inner ordering, its precision adjusted | after N comparisons |
    | `inner` | strict inner ordering | after each comparison |
    """

    kind: Literal["none", "outer", "inner"] = "outer"
    every: int = 1

    def __post_init__(self) -> None:
        if self.every < 1:
            raise SettingError(
                f"a star after every {self.every}", where="ordering precision", expected="1 or more"
            )

    @property
    def rows_per_star(self) -> int:
        """Rows of a stream that come out together; 0 if nothing is ordered."""
        return 0 if self.kind == "none" else self.every if self.kind == "outer" else 1

    def stars(self, sub_window_rows: float) -> float:
        """For one core for one group of rows."""
        if self.kind == "inner":
            return max(1.0, sub_window_rows / self.every)
        return 1.0 if self.kind == "outer" else 0.0

    def __str__(self) -> str:
        return self.kind if self.kind == "none" or self.every == 1 else f"{self.kind}:{self.every}"


def parse_ordering(text: str) -> Ordering:
    kind, colon, number = text.partition(":")
    plain = kind in ("none", "outer", "inner") and not colon
    counted = kind in ("outer", "inner") and number.isdecimal()
    if not (plain or counted):
        raise SettingError(
            f"{text!r} is not an ordering precision",
            where="--ordering",
            expected="none, outer, outer:N (rows per star), inner or inner:N (comparisons per star)",
        )
    return Ordering(kind, int(number) if number else 1)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ArrivalPattern:
    """When rows come: steady, at random, or in bursts, always at exactly the rate asked for.

    Law: the same seed gives the same times, and they ascend. Each stream has half of the rate. In bursts, all
    rows of a cycle come in its first `burst_share`.
    """

    kind: Pattern = "steady"
    burst_rows: int = 200
    """Rows of both streams in a cycle, so that a cycle is as long as these take on average."""
    burst_share: float = 0.5

    def __post_init__(self) -> None:
        if self.kind not in get_args(Pattern):
            raise SettingError(
                f"{self.kind!r} is not a kind of arrivals",
                where="--arrivals",
                expected=", ".join(get_args(Pattern)),
            )
        if not 0 < self.burst_share <= 1 or self.burst_rows < 2:
            raise SettingError(
                f"bursts of {self.burst_rows} rows in {self.burst_share} of the time",
                expected="2 rows or more, and a share above 0, at most 1",
            )

    def times_ns(self, rows_per_s: float, rows: int, seed: int) -> NDArray[np.float64]:
        """`times[stream, n]` for `rows` rows of each stream. Steady streams alternate."""
        period = 2e9 / rows_per_s
        steady = (np.arange(rows) + np.array([[0.0], [0.5]])) * period
        if self.kind == "poisson":
            gaps = np.random.default_rng(seed).exponential(1.0, (2, rows))
            times = np.cumsum(gaps, axis=1)
            return np.asarray(times * (rows * period / times[:, -1:]))
        if self.kind == "bursts":
            cycle = self.burst_rows * period / 2
            inside = np.mod(steady, cycle)
            return np.asarray(steady - inside + inside * self.burst_share)
        return np.asarray(steady)


@dataclass(frozen=True)
class Setup:
    design: Design
    cores: int
    window: WindowSize
    selectivity: float = 1 / 250_000
    """For the papers' benchmark: two bands of +-10 in 10^4 each."""
    precision: Ordering = field(default_factory=Ordering)
    fan_out: int = 2
    fan_in: int = 2
    queue_rows: int = 256
    """Rows in the queue between any two threads. A core that shares its processor stops for milliseconds; if
    the queue cannot hold what comes meanwhile, all others stop with it."""
    input_rows: int = 64
    """Rows that may wait before the first thread, per stream in a chain and for both together elsewhere. Rows
    that find this queue full are lost."""
    physical_cores: int | None = None
    """None: a core for every thread."""
    other_threads: int = 4
    """Threads that are not join cores. Four: that the SplitJoin paper's 32 cores suffice for 28 join cores is
    inferred."""
    repartition_rows: int = 1
    """CellJoin: rows after which the coordinator divides the windows again."""
    arrivals: ArrivalPattern = field(default_factory=ArrivalPattern)
    right_later_s: float = 0.0
    """Time skew: how much later than their event times right rows come, compared with left rows."""
    regions: int = 1
    """NUMA regions that the join cores are spread over."""
    placement: Placement = "neighbours"

    def __post_init__(self) -> None:
        if self.design not in DESIGNS:
            raise SettingError(
                f"there is no design {self.design!r}", where="--design", expected=", ".join(DESIGNS)
            )
        _within("cores", self.cores, 1, MOST_CORES)
        if self.design == "kang" and self.cores != 1:
            raise SettingError(
                f"Kang's procedure on {self.cores} cores",
                where="--cores",
                expected="1: it is the sequential reference",
            )
        if self.window.rows is not None and self.window.rows < self.cores:
            raise SettingError(
                f"a window of {self.window.rows} rows on {self.cores} cores",
                where="--window",
                expected="a row for every core, or more",
            )
        if not 0 <= self.selectivity <= 1:
            raise SettingError(
                f"{self.selectivity} is not a selectivity", where="--selectivity", expected="0 to 1"
            )
        _within("fan-out", self.fan_out, 2, MOST_CORES)
        _within("fan-in", self.fan_in, 2, MOST_CORES)
        _within("queue rows", self.queue_rows, 1, 1 << 16)
        _within("input rows", self.input_rows, 1, 1 << 20)
        _within("other threads", self.other_threads, 0, MOST_CORES)
        _within("rows between two partitions", self.repartition_rows, 1, 1 << 20)
        _within("NUMA regions", self.regions, 1, MOST_CORES)
        if self.placement not in get_args(Placement):
            raise SettingError(
                f"there is no placement {self.placement!r}",
                where="--placement",
                expected=", ".join(get_args(Placement)),
            )
        if self.physical_cores is not None:
            _within("physical cores", self.physical_cores, 1, 2 * MOST_CORES)


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise SettingError(f"{value} {name}", expected=f"{low} to {high}")
