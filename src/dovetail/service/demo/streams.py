"""Simulated search events, as in section 7.1 of the paper: client logs and server logs of the same searches.

A server answers a search and logs one row at once. Clients log what people do with the answer, seconds to
hours later, by clocks that are slightly off, and upload it when they can: most within seconds, some after
minutes, a few after most of an hour. Both sides carry the search's id.

    event time    server row ───think───► client row ───upload───► arrives
    wall time     the same, 60 times faster: one second of the demo is one minute of event time

In a one-minute demo, about 94.2 % of the client rows have a server row at all (the others' were never
logged), and about 92.8 % have one within the demo's window. The shares below were chosen to come near the
94.07 % and 92.49 % of the paper's batch joins: these rates are an input of the demo, not a finding.

Law: the rows of second `n` depend on the seed and `n` alone. No clock and no I/O in here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

TIME = pa.timestamp("us", tz="UTC")
CLIENT = pa.schema(
    [
        pa.field("eventtime", TIME),
        pa.field("search_id", pa.string()),
        pa.field("user_id", pa.int64()),
        pa.field("platform", pa.string()),
        pa.field("action", pa.string()),
        pa.field("clicked_position", pa.int32()),
    ]
)
SERVER = pa.schema(
    [
        pa.field("eventtime", TIME),
        pa.field("search_id", pa.string()),
        pa.field("query", pa.string()),
        pa.field("country", pa.string()),
        pa.field("ranking_version", pa.string()),
        pa.field("results", pa.int32()),
        pa.field("latency_ms", pa.float64()),
    ]
)

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US

PLATFORMS = ("android", "ios", "web")
ACTIONS = ("view", "click", "refine")
COUNTRIES = ("us", "in", "br", "id", "mx", "gb", "de", "jp")
QUERIES = tuple(
    f"{what} {where}"
    for what in (
        "dovetail joints",
        "running clubs",
        "jazz trio",
        "used bicycles",
        "sourdough",
        "chess for two",
    )
    for where in ("near me", "this week", "for beginners", "prices", "photos")
)
RANKINGS = ("r41", "r42")

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass
class DemoStreams:
    """Both streams, second by second. From `deploy_at_s` on, r42 ranks half of the searches, worse."""

    seed: int
    searches_per_s: int = 8_000
    start_us: int = 1_534_752_000_000_000
    event_us_per_s: int = MINUTE_US
    unlogged: float = 0.058
    deploy_at_s: int = 20
    _next_second: int = 0
    _due: dict[int, tuple[list[pa.Table], list[pa.Table]]] = field(
        default_factory=lambda: defaultdict(lambda: ([], []))
    )

    def batches(self, wall_second: int) -> tuple[pa.Table, pa.Table]:
        """Client and server rows that arrive in a second, in order of arrival. Call it in order, from 0."""
        if wall_second != self._next_second:
            raise ValueError(f"second {wall_second} is out of order: the next one is {self._next_second}")
        self._next_second += 1
        self._search(wall_second)
        client, server = self._due.pop(wall_second)
        return _by_arrival(client, CLIENT), _by_arrival(server, SERVER)

    def _search(self, second: int) -> None:
        """All rows of the searches of one second, sorted into the seconds in which they arrive."""
        rng = np.random.default_rng((self.seed, second))
        searches = int(rng.poisson(self.searches_per_s))
        first_us = self.start_us + second * self.event_us_per_s
        searched_us = first_us + np.sort(rng.integers(0, self.event_us_per_s, searches))
        identity = np.int64(second) * 10_000_000 + np.arange(searches)
        new_ranking = (rng.random(searches) < 0.5) & (second >= self.deploy_at_s)
        self._server_rows(rng, identity, searched_us, new_ranking)
        self._client_rows(rng, identity, searched_us, new_ranking)

    def _server_rows(
        self, rng: np.random.Generator, identity: Ints, searched_us: Ints, new_ranking: npt.NDArray[np.bool_]
    ) -> None:
        logged = rng.random(len(identity)) >= self.unlogged
        count = int(logged.sum())
        popularity = 1.0 / np.arange(1, len(QUERIES) + 1)
        columns = [
            _times(searched_us[logged]),
            _search_ids(identity[logged]),
            _words(QUERIES, rng.choice(len(QUERIES), count, p=popularity / popularity.sum())),
            _words(COUNTRIES, rng.integers(0, len(COUNTRIES), count)),
            _words(RANKINGS, new_ranking[logged].astype(np.int64)),
            pa.array(rng.poisson(40, count).astype(np.int32)),
            pa.array(np.round(rng.lognormal(4.2, 0.5, count), 1)),
        ]
        delay_us = rng.exponential(2 * SECOND_US, count)
        self._deliver(1, pa.Table.from_arrays(columns, schema=SERVER), searched_us[logged] + delay_us)

    def _client_rows(
        self, rng: np.random.Generator, identity: Ints, searched_us: Ints, new_ranking: npt.NDArray[np.bool_]
    ) -> None:
        """One or two rows per search. Clicks on r42's answers are further down the page."""
        of = np.repeat(np.arange(len(identity)), 1 + (rng.random(len(identity)) < 0.3))
        count = len(of)
        acted_us = searched_us[of] + _think_us(rng, count)
        logged_us = (acted_us + _clock_error_us(rng, count)).astype(np.int64)
        action = rng.choice(len(ACTIONS), count, p=(0.4, 0.45, 0.15))
        position = 1 + rng.geometric(np.where(new_ranking[of], 0.22, 0.35))
        columns = [
            _times(logged_us),
            _search_ids(identity[of]),
            pa.array(rng.integers(1, 2_000_000, len(identity))[of]),
            _words(PLATFORMS, rng.integers(0, len(PLATFORMS), len(identity))[of]),
            _words(ACTIONS, action),
            pa.array(position.astype(np.int32), mask=action != ACTIONS.index("click")),
        ]
        self._deliver(0, pa.Table.from_arrays(columns, schema=CLIENT), acted_us + _upload_us(rng, count))

    def _deliver(self, side: int, rows: pa.Table, arrives_us: Floats) -> None:
        """Sort rows into the wall seconds in which they arrive."""
        order = np.argsort(arrives_us, kind="stable")
        wall_s = ((arrives_us[order] - self.start_us) // self.event_us_per_s).astype(np.int64)
        arrived = rows.take(pa.array(order)).append_column("_arrives", pa.array(arrives_us[order]))
        seconds, starts = np.unique(wall_s, return_index=True)
        ends = np.append(starts[1:], len(wall_s))
        for second, start, end in zip(seconds.tolist(), starts.tolist(), ends.tolist(), strict=True):
            self._due[second][side].append(arrived.slice(start, end - start))


def _think_us(rng: np.random.Generator, count: int) -> Floats:
    """From search to action: typically half a minute; one person in forty returns much later."""
    later = rng.random(count) < 0.028
    seconds = np.where(
        later, rng.uniform(16 * 60, 40 * 60, count), rng.lognormal(3.2, 0.8, count).clip(1, 840)
    )
    return np.asarray(seconds * SECOND_US)


def _clock_error_us(rng: np.random.Generator, count: int) -> Floats:
    """Client clocks are a few seconds off; one in a hundred is up to a minute and a half behind."""
    behind = rng.random(count) < 0.01
    return np.asarray(np.where(behind, rng.uniform(-90, 0, count), rng.normal(0, 3, count)) * SECOND_US)


def _upload_us(rng: np.random.Generator, count: int) -> Floats:
    """From action to arrival: seconds for most, minutes for one in five, up to 45 minutes for one in 300."""
    kind = rng.random(count)
    soon, minutes, offline = (
        rng.exponential(8, count),
        60 * rng.lognormal(0.4, 0.6, count),
        rng.uniform(10 * 60, 45 * 60, count),
    )
    seconds = np.where(kind < 0.8, soon, np.where(kind < 0.9967, minutes, offline))
    return np.asarray(seconds * SECOND_US)


def _by_arrival(parts: list[pa.Table], schema: pa.Schema) -> pa.Table:
    if not parts:
        return schema.empty_table()
    table = pa.concat_tables(parts)
    order = np.argsort(table.column("_arrives").to_numpy(), kind="stable")
    return table.drop_columns("_arrives").take(pa.array(order)).combine_chunks()


def _times(values_us: Ints) -> pa.Array:
    return pa.array(values_us).cast(TIME)


def _search_ids(identity: Ints) -> pa.Array:
    return pc.binary_join_element_wise("s", pa.array(identity).cast(pa.string()), "")


def _words(words: tuple[str, ...], index: npt.NDArray[np.integer]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int32)), pa.array(words)).cast(pa.string())
