"""What became of left rows, as a picture on two time lines: by event time the row, its window and the right
rows that it met; below, when each of them came into the log.

by event time   ───────●════════════╪═════════►     ● the left row   ═ its window
                             ○   ○      ×           ○ right rows that it matched   × one that it missed
when they came  ────────────────●────○──────○──×──►  the same rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from html import escape
from typing import Any

WIDTH, LEFT, RIGHT, ROW, TOP = 960.0, 190.0, 40.0, 34.0, 52.0
EVENT, ARRIVAL = "time", "written_at"
_COLOURS = {"matched": "match", "unmatched": "alone", "open": "open", "not_taken": "open"}
Across = Callable[[float], float]


def draw_fates(answer: dict[str, Any]) -> str | None:
    """None: no row of the answer has a time."""
    rows = [row for row in answer["rows"] if row["left"][EVENT]]
    if not rows:
        return None
    came = [row for row in rows if any(each.get(ARRIVAL) for each in _marks(row))]
    panels = [("by event time", EVENT, rows)] + ([("when they came", ARRIVAL, came)] if came else [])
    height = sum(TOP + ROW * len(shown) for _, _, shown in panels) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="time-line" viewBox="0 0 {WIDTH:.0f} {height:.0f}" '
        'role="img" aria-label="Left rows with their windows and the right rows they met, by event time, and '
        'when each of them came">'
    ]
    top = 0.0
    for title, clock, shown in panels:
        parts.append(_panel(title, clock, shown, top))
        top += TOP + ROW * len(shown)
    return "".join([*parts, "</svg>"])


def _panel(title: str, clock: str, rows: list[dict[str, Any]], top: float) -> str:
    times = [at for row in rows for at in _times(row, clock)]
    low, high = min(times), max(times)
    pad = max((high - low) * 0.05, 1.0)
    low, high = low - pad, high + pad

    def across(at: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (at - low) / (high - low)

    first, bottom = top + TOP, top + TOP + ROW * len(rows)
    parts = [f'<text class="title" x="8" y="{first - 14:.1f}">{title}</text>']
    for part in range(5):
        at = low + (high - low) * part / 4
        parts.append(
            f'<path class="grid" d="M{across(at):.1f} {first - 8:.1f} V{bottom:.1f}"/>'
            f'<text class="axis" x="{across(at):.1f}" y="{first - 14:.1f}">{_clock(at, high - low)}</text>'
        )
    for number, row in enumerate(rows):
        parts.append(_line(row, clock, first + ROW * number + ROW / 2, across))
    return "".join(parts)


def _line(row: dict[str, Any], clock: str, y: float, across: Across) -> str:
    kind = _COLOURS.get(row["status"], "open")
    words = f"row {row['left']['row']}, {row['status'].replace('_', ' ')}"
    parts = [f'<text class="label" x="8" y="{y + 4:.1f}">{escape(words)}</text>']
    for window in _windows(row) if clock == EVENT else ():
        start, end = across(_second(window["start"])), across(_second(window["end"]))
        parts.append(
            f'<rect class="window" x="{start:.1f}" y="{y - 7:.1f}" width="{max(end - start, 1):.1f}" '
            'height="14" rx="3"/>'
        )
    kinds = [("match", _met(row)), ("missed", _missed(row)), (f"left {kind}", [row["left"]])]
    for each, marked in kinds:
        parts += [_mark(one, clock, across, y, each) for one in marked if one.get(clock)]
    return "".join(parts)


def _mark(row: dict[str, Any], clock: str, across: Across, y: float, kind: str) -> str:
    values = ", ".join(f"{name} {value}" for name, value in (row.get("values") or {}).items())
    came = f", came {row[ARRIVAL]}" if row.get(ARRIVAL) else ""
    said = escape(f"{row[EVENT]}{came}  {values}"[:300])
    x = across(_second(row[clock]))
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{said}</title></circle>'


def _times(row: dict[str, Any], clock: str) -> Iterable[float]:
    windows = _windows(row) if clock == EVENT else []
    edges = [window[edge] for window in windows for edge in ("start", "end")]
    marks = [each[clock] for each in _marks(row) if each.get(clock)]
    return [_second(text) for text in (*edges, *marks)]


def _marks(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [row["left"], *_met(row), *_missed(row)]


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
    if span_s < 10:
        return moment.strftime("%H:%M:%S.%f")[:-5]  # tenths: five labels within seconds would be alike
    return moment.strftime("%H:%M:%S" if span_s < 86_400 else "%m-%d %H:%M")
