"""When rows come: steady, at random, or in bursts. All have exactly the rate that was asked for.

Law: the same seed gives the same times, and they ascend. The two streams have half of the rate each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import SettingError

Kind = Literal["steady", "poisson", "bursts"]


@dataclass(frozen=True)
class Arrivals:
    """`bursts`: in each cycle all rows come in its first `burst_share`, and none in the rest."""

    kind: Kind = "steady"
    burst_rows: int = 200
    """Rows of both streams in a cycle, so that a cycle is as long as these take on average."""
    burst_share: float = 0.5

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise SettingError(
                f"{self.kind!r} is no kind of arrivals",
                where="--arrivals",
                expected=", ".join(get_args(Kind)),
            )
        if not 0 < self.burst_share <= 1 or self.burst_rows < 2:
            raise SettingError(
                f"bursts of {self.burst_rows} rows in {self.burst_share} of the time",
                expected="2 rows or more, and a share above 0, at most 1",
            )

    def times_ns(self, rows_per_s: float, rows: int, seed: int) -> NDArray[np.float64]:
        """Of `rows` rows of each stream: `times[stream, n]`. Steady streams alternate."""
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
