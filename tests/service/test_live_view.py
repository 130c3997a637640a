"""The live view: what figures look like, that nothing moves while numbers change, and the plain lines."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from dovetail.service import units
from dovetail.service.cli.live_view import PLAIN_WIDTH, LiveView, plain_lines, render
from dovetail.service.figures import (
    HISTORY_LENGTH,
    JoinFigures,
    MemoryUse,
    RebuildFigures,
    RunFigures,
    StreamFigures,
    extended,
)

RISING = tuple(float(rate) for rate in range(0, 24_000, 800))
SNAPSHOT = RunFigures(
    application="search_quality",
    elapsed_s=47.3,
    phase="joining",
    streams=(
        StreamFigures("client_events", "left", 1_240_312, 20133.4, 1_534_761_612_000_000, 1_240, 3, RISING),
        StreamFigures(
            "server_events", "right", 1_021_220, 17011.2, 1_534_761_790_000_000, 0, 0, RISING[::-1]
        ),
    ),
    joins=(JoinFigures("searches", 183_220, 512_009, 1_004_112, 81_233, 0, 1_204, 0.92441, 31_457_280),),
    out_rows=1_085_345,
    out_rows_per_s=19_922.0,
    out_rate_history=RISING,
    memory=MemoryUse(1_503_238_553, "PSS"),
    output="parquet  results/joined_searches",
)
EMPTY = RunFigures(
    application="search_quality",
    elapsed_s=0.4,
    phase="starting",
    streams=(StreamFigures("client_events", "left"), StreamFigures("server_events", "right")),
    joins=(JoinFigures("searches"),),
)
GOLDEN = Path(__file__).parent / "live_view"


def drawn(figures: RunFigures, columns: int) -> str:
    console = Console(width=columns, file=io.StringIO(), record=True, color_system=None)
    console.print(render(figures, columns))
    return "\n".join(line.rstrip() for line in console.export_text().splitlines()) + "\n"


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_looks_as_it_should(columns: int) -> None:
    assert drawn(SNAPSHOT, columns) == (GOLDEN / f"joining-{columns}.txt").read_text()


REPLAYING = replace(SNAPSHOT.joins[0], replay=RebuildFigures(0.634, 4_204_000.0, 3.2))


@pytest.mark.parametrize("columns", [80, 120])
def test_a_rebuild_is_seen_and_moves_nothing(columns: int) -> None:
    seen = drawn(replace(SNAPSHOT, joins=(REPLAYING,)), columns)
    assert seen == (GOLDEN / f"rebuilding-{columns}.txt").read_text()
    usual = drawn(SNAPSHOT, columns).splitlines()
    (changed,) = [pair for pair in zip(usual, seen.splitlines(), strict=True) if pair[0] != pair[1]]
    assert len(changed[0]) == len(changed[1])


def test_a_replay_of_which_nothing_is_read_yet_has_no_end() -> None:
    began = replace(REPLAYING, replay=RebuildFigures(0.0, 0.0, None))
    assert "rebuilding the join state: 0 %, 0 rows/s  ──" in drawn(replace(SNAPSHOT, joins=(began,)), 80)


def test_plain_lines_of_a_replay() -> None:
    _, line = plain_lines(replace(SNAPSHOT, joins=(REPLAYING,)))
    assert "rebuilding the join state: 63 %, 4.20 M rows/s, 3 s left" in line


def test_what_it_waits_for_is_shown_and_moves_nothing() -> None:
    waiting = replace(SNAPSHOT, waiting="right stream idle since 10:40:12")
    usual, seen = drawn(SNAPSHOT, 80).splitlines(), drawn(waiting, 80).splitlines()
    (changed,) = [pair for pair in zip(usual, seen, strict=True) if pair[0] != pair[1]]
    assert changed == ("", " right stream idle since 10:40:12")
    assert plain_lines(waiting)[-1] == "  right stream idle since 10:40:12"


@pytest.mark.parametrize("columns", [80, 100, 120, 200])
def test_nothing_moves_and_nothing_is_cut(columns: int) -> None:
    busy, empty = drawn(SNAPSHOT, columns).splitlines(), drawn(EMPTY, columns).splitlines()
    assert len(busy) == len(empty)
    assert busy[2] == empty[2], "headings stay where they are"
    assert "…" not in "".join(busy)
    assert max(map(len, busy)) < columns


def test_a_narrow_terminal_shortens_but_does_not_fail() -> None:
    assert "match rate" in drawn(SNAPSHOT, 40)


def test_plain_lines() -> None:
    assert plain_lines(SNAPSHOT) == [
        "search_quality joining 00:00:47 | in 1.24 M + 1.02 M rows, 37.1 k/s | out 1.09 M rows, 19.9 k/s"
        " | memory 1.40 GiB PSS",
        "  join searches | match rate 92.44 % | open 183 k | retained 512 k | index 30.0 MiB | backlog 1240"
        " | late 1204",
    ]


def test_plain_lines_fit_whatever_the_numbers() -> None:
    most = 10**15
    join = JoinFigures("j" * 80, *[most] * 6, 1.0, most, missed=most, invalid_rows=most, capped_rows=most)
    streams = tuple(StreamFigures("s" * 80, side, most, 1e15, 0, most) for side in ("left", "right"))
    wide = replace(
        SNAPSHOT, application="a" * 80, joins=(join, REPLAYING), streams=streams, waiting="w" * 200
    )
    assert [len(line) <= PLAIN_WIDTH for line in plain_lines(wide)] == [True] * 4
    assert "match rate 100.00 %" in plain_lines(wide)[1]


def test_without_a_terminal_one_line_an_interval_and_the_last_state() -> None:
    now = [0.0]
    console = Console(file=io.StringIO(), width=60, force_terminal=False)
    with LiveView(console, interval_s=5, clock=lambda: now[0]) as view:
        for second in range(12):
            now[0] = float(second)
            view.update(replace(SNAPSHOT, elapsed_s=float(second)))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [line.split(" | ")[0].rsplit(" ", 1)[1] for line in lines if line[0] != " "] == [
        "00:00:00", "00:00:05", "00:00:10", "00:00:11",
    ]  # fmt: skip


def test_on_a_terminal_the_view_is_redrawn() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    with LiveView(console) as view:
        view.update(EMPTY)
        view.update(SNAPSHOT)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "starting" in shown
    assert "92.44 %" in shown


def test_the_clock_goes_on_between_two_snapshots() -> None:
    now = [0.0]
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    with LiveView(console, clock=lambda: now[0]) as view:
        view.update(EMPTY)
        now[0] = 7.0
        view.refresh()
    assert "00:00:07" in console.file.getvalue()  # type: ignore[attr-defined]


def test_history_keeps_its_length() -> None:
    history: tuple[float, ...] = ()
    for rate in range(HISTORY_LENGTH + 5):
        history = extended(history, float(rate))
    assert len(history) == HISTORY_LENGTH
    assert history[-1] == HISTORY_LENGTH + 4


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (9_999, "9999"),
        (10_000, "10.0 k"),
        (999_499, "999 k"),
        (999_999, "1.00 M"),
        (1_240_312, "1.24 M"),
        (3_200_000_000, "3.20 G"),
        (0.5, "0.50"),
        (12.34, "12.3"),
    ],
)
def test_counts(number: float, text: str) -> None:
    assert units.count(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (3_328_599_655, "3.10 GiB"), (1 << 50, "1024 TiB")],
)
def test_sizes(number: int, text: str) -> None:
    assert units.size(number) == text


def test_times_never_and_ended() -> None:
    assert units.instant(None) == units.instant(-(1 << 63)) == "—"
    assert units.instant((1 << 63) - 1) == "ended"
    assert units.instant(0) == "1970-01-01 00:00:00"
    assert units.instant(1 << 61) == "out of range"


def test_sparkline_scales_to_its_largest() -> None:
    assert units.sparkline([0, 5, 10], 5) == "  ▁▄▆"
    assert units.sparkline([0, 0], 2) == "▁▁"
    assert units.sparkline([], 3) == "   "
