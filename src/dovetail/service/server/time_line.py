"""What became of left rows, as a picture on a time line: the row, its window, and the right rows it met.

───────●════════════╪═════════►      ● the left row at its event time   ═ its window
             ○   ○      ×            ○ right rows that it matched       × one that it missed
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from html import escape
from typing import Any

WIDTH, LEFT, RIGHT, ROW, TOP = 960.0, 190.0, 40.0, 34.0, 34.0
_COLOURS = {"matched": "match", "unmatched": "alone", "open": "open", "not_taken": "open"}


def draw_fates(answer: dict[str, Any]) -> str | None:
    """None: no row of the answer has a time."""
    rows = [row for row in answer["rows"] if row["left"]["time"]]
    times = [at for row in rows for at in _times(row)]
    if not times:
        return None
    low, high = min(times), max(times)
    pad = max((high - low) * 0.05, 1.0)
    low, high = low - pad, high + pad

    def across(at: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (at - low) / (high - low)

    height = TOP + ROW * len(rows) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="time-line" viewBox="0 0 {WIDTH:.0f} {height:.0f}" '
        'role="img" aria-label="Left rows with their windows and the right rows they met, by event time">'
    ]
    for part in range(5):
        at = low + (high - low) * part / 4
        parts.append(
            f'<path class="grid" d="M{across(at):.1f} {TOP - 8} V{height:.0f}"/>'
            f'<text class="axis" x="{across(at):.1f}" y="{TOP - 14}">{_clock(at, high - low)}</text>'
        )
    for number, row in enumerate(rows):
        parts.append(_line(row, TOP + ROW * number + ROW / 2, across))
    return "".join([*parts, "</svg>"])


def _line(row: dict[str, Any], y: float, across: Callable[[float], float]) -> str:
    kind = _COLOURS.get(row["status"], "open")
    words = f"row {row['left']['row']}, {row['status'].replace('_', ' ')}"
    parts = [f'<text class="label" x="8" y="{y + 4:.1f}">{escape(words)}</text>']
    for window in _windows(row):
        start, end = across(_second(window["start"])), across(_second(window["end"]))
        parts.append(
            f'<rect class="window" x="{start:.1f}" y="{y - 7:.1f}" width="{max(end - start, 1):.1f}" '
            'height="14" rx="3"/>'
        )
    parts += [_mark(right, across, y, "match") for right in _met(row)]
    parts += [_mark(right, across, y, "missed") for right in _missed(row)]
    return "".join([*parts, _mark(row["left"], across, y, f"left {kind}")])


def _mark(row: dict[str, Any], across: Callable[[float], float], y: float, kind: str) -> str:
    values = ", ".join(f"{name} {value}" for name, value in (row.get("values") or {}).items())
    said = escape(f"{row['time']}  {values}"[:300])
    x = across(_second(row["time"]))
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{said}</title></circle>'


def _times(row: dict[str, Any]) -> list[float]:
    edges = [window[edge] for window in _windows(row) for edge in ("start", "end")]
    marks = [each["time"] for each in (row["left"], *_met(row), *_missed(row))]
    return [_second(text) for text in (*edges, *marks)]


def _windows(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Its window, or the windows that it is in."""
    if row.get("window"):
        start, end = row["window"]
        return [{"start": start, "end": end}]
    return list(row.get("windows") or [])


def _met(row: dict[str, Any]) -> list[dict[str, Any]]:
    found = [match["right"] for part in _parts(row) for match in part.get("matches") or []]
    return [right for right in found if right.get("time")]


def _missed(row: dict[str, Any]) -> list[dict[str, Any]]:
    found = [(part.get("miss") or {}).get("right") or {} for part in _parts(row)]
    return [right for right in found if right.get("time")]


def _parts(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [row, *(row.get("windows") or [])]


def _second(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _clock(at: float, span_s: float) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    return moment.strftime("%H:%M:%S" if span_s < 86_400 else "%m-%d %H:%M")
