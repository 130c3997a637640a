"""What became of rows, as a picture."""

from __future__ import annotations

import re
from typing import Any

from dovetail.service.server.time_line import draw_fates


def right(at: str, **values: Any) -> dict[str, Any]:
    return {"time": at, "values": values}


def row(number: int, at: str | None, status: str, **found: Any) -> dict[str, Any]:
    return {"left": {"row": number, "time": at, "values": {}}, "status": status, **found}


def test_a_row_its_window_and_whom_it_met_are_in_the_order_of_time() -> None:
    matched = row(
        0,
        "2026-01-01T00:05:00Z",
        "matched",
        window=["2026-01-01T00:00:00Z", "2026-01-01T00:06:00Z"],
        matches=[{"right": right("2026-01-01T00:01:00Z", ad=1)}],
        miss=None,
    )
    missed = row(
        1,
        "2026-01-01T00:05:00Z",
        "unmatched",
        window=["2026-01-01T00:00:00Z", "2026-01-01T00:06:00Z"],
        matches=[],
        miss={"right": right("2026-01-01T00:08:00Z")},
    )
    drawn = draw_fates({"rows": [matched, missed]})
    assert drawn is not None
    places = {kind: float(x) for kind, x in re.findall(r'<circle class="([a-z ]+)" cx="([\d.]+)"', drawn)}
    assert places["match"] < places["left match"] == places["left alone"] < places["missed"]
    assert drawn.count('class="window"') == 2


def test_below_is_when_each_row_came() -> None:
    """The right row is the earlier one by its event time, and came after the left one."""
    left = row(0, "2026-01-01T00:05:00Z", "matched", window=["2026-01-01T00:00:00Z", "2026-01-01T00:06:00Z"])
    left["left"]["written_at"] = "2026-01-01T09:00:00Z"
    met = {**right("2026-01-01T00:01:00Z", ad=1), "written_at": "2026-01-01T09:00:30Z"}
    drawn = draw_fates({"rows": [{**left, "matches": [{"right": met}]}]})
    assert drawn is not None
    by_event, by_arrival = drawn.split("when they came</text>")
    for panel, order in ((by_event, ["match", "left match"]), (by_arrival, ["left match", "match"])):
        places = {kind: float(x) for kind, x in re.findall(r'<circle class="([a-z ]+)" cx="([\d.]+)"', panel)}
        assert sorted(places, key=places.__getitem__) == order
    assert "09:00:30" in by_arrival
    assert by_arrival.count('class="window"') == 0, "a window is one of event time"
    assert "came 2026-01-01T09:00:30Z" in by_event, "the words of a mark say both"


def test_rows_within_windows_show_every_window() -> None:
    windows = [
        {"start": f"2026-01-01T0{hour}:00:00Z", "end": f"2026-01-01T0{hour + 1}:00:00Z", "matches": []}
        for hour in (0, 1)
    ]
    drawn = draw_fates({"rows": [row(0, "2026-01-01T01:00:00Z", "open", windows=windows)]})
    assert drawn is not None
    assert drawn.count('class="window"') == 2


def test_what_a_row_says_is_text() -> None:
    met = [{"right": right("2026-01-01T00:01:00Z", name="</title><script>x</script>")}]
    drawn = draw_fates({"rows": [row(0, "2026-01-01T00:00:00Z", "matched", matches=met)]})
    assert drawn is not None
    assert "<script>" not in drawn


def test_without_a_time_there_is_no_picture() -> None:
    assert draw_fates({"rows": [row(0, None, "unmatched")]}) is None
    assert draw_fates({"rows": []}) is None
