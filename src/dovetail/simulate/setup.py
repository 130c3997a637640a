"""What is simulated: a design, its cores and trees, the window, the order kept, the machine, the arrivals.

Law: a setup that was built can be simulated; what makes no sense is refused when it is built.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from dovetail.errors import SettingError
from dovetail.simulate.arrivals import Arrivals
from dovetail.simulate.precision import Precision
from dovetail.simulate.window import Window

Design = Literal["kang", "cell", "handshake", "low-latency", "split"]
"""Kang's three steps on one core; CellJoin; handshake join; low-latency handshake join; SplitJoin."""
DESIGNS: tuple[Design, ...] = get_args(Design)
MOST_CORES = 1024


@dataclass(frozen=True)
class Setup:
    design: Design
    cores: int
    window: Window
    selectivity: float = 1 / 250_000
    """Of the papers' benchmark: two bands of +-10 in 10^4 each."""
    precision: Precision = field(default_factory=Precision)
    fan_out: int = 2
    fan_in: int = 2
    queue_rows: int = 256
    """Between any two threads. A core that shares its processor stops for milliseconds: shorter queues than
    what comes meanwhile make all others stop with it."""
    input_rows: int = 64
    """Before the first thread, of each stream in a chain and of both together elsewhere: a row that finds
    so many waiting is lost."""
    physical_cores: int | None = None
    """None: a core for every thread."""
    other_threads: int = 4
    """Threads that are not join cores. Four: the SplitJoin paper's 32 cores suffice for 28 join cores."""
    repartition_rows: int = 1
    """CellJoin's coordinator divides the windows anew every so many rows."""
    arrivals: Arrivals = field(default_factory=Arrivals)
    right_later_s: float = 0.0
    """Time skew: how much later than their event times right rows come, compared with left rows."""

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
                f"{self.selectivity} is no selectivity", where="--selectivity", expected="0 to 1"
            )
        _within("fan-out", self.fan_out, 2, MOST_CORES)
        _within("fan-in", self.fan_in, 2, MOST_CORES)
        _within("queue rows", self.queue_rows, 1, 1 << 16)
        _within("input rows", self.input_rows, 1, 1 << 20)
        _within("other threads", self.other_threads, 0, MOST_CORES)
        _within("rows between two partitions", self.repartition_rows, 1, 1 << 20)
        if self.physical_cores is not None:
            _within("physical cores", self.physical_cores, 1, 2 * MOST_CORES)


def _within(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise SettingError(f"{value} {name}", expected=f"{low} to {high}")
