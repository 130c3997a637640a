"""What happened to a row, in sentences and as data: the same words for every kind of join.

A miss has one sentence for its reason, the row that it is about, and the window where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.joins.interval.fate import Fate, Miss
from dovetail.joins.known import At, Doubt, Known, Match
from dovetail.joins.picking import Compared, Comparison
from dovetail.joins.rows.key_rows import KeyRow, KeyRows
from dovetail.joins.theta.fate import Outside, ThetaFate, ThetaMiss
from dovetail.joins.windowed.fate import InWindow, WindowFate, WindowMiss
from dovetail.model.offset import ENDED, NEVER
from dovetail.model.time_codes import unusable
from dovetail.service.cli.log_output import cell, iso_time, plain
from dovetail.service.units import instant, span

AnyFate = Fate | WindowFate | ThetaFate
AnyMiss = Miss | WindowMiss | ThetaMiss
SHOWN_CHARACTERS = 120
SHOWN_MATCHES = 5
_WHICH = {
    "condition_fails": "closest",
    "left_late": "let go",
    "outside_window": "nearest",
    "right_capped": "missed",
    "right_late": "too late",
    "right_late_for_any": "too late",
    "right_let_go": "let go",
    "session_cut": "began another",
}
"""What the row is that a miss names, by its reason."""


def fate_lines(fate: AnyFate, known: Known) -> list[str]:
    """What became of the row, a sentence a line."""
    if not isinstance(fate, WindowFate):
        known = known.as_of(fate.closed)
    if fate.taken is None:
        written = f"it is in the log since {instant(fate.left.written_at_us)}"
        lines = [f"{written}; {_TAKEN_NOT[bool(known.records)]}"]
    elif isinstance(fate, WindowFate):
        lines = [*_in_windows(fate, fate.taken, known)]
    else:
        lines = [*_in_time(fate, fate.taken, known)]
    return [*lines, *(_doubt(doubt, known) for doubt in fate.doubts)]


_TAKEN_NOT = {True: "the join has not come to it", False: "no step of the join is on record"}


def _in_time(fate: Fate | ThetaFate, taken: At, known: Known) -> Iterator[str]:
    count = fate.matched if isinstance(fate, ThetaFate) else len(fate.matches)
    yield from _matches(fate.matches, count)
    if fate.comparison is not None and fate.matches:
        yield from _comparison(fate.comparison, decided=True)
    if fate.miss is not None:
        yield from _missed(fate.miss, known, fate)
    if fate.closed is None:
        yield _open(fate, known)
        if fate.comparison is not None:
            yield from _comparison(fate.comparison, decided=False)
    elif fate.miss is not None:
        came = f"it came in {at_words(taken)}, " if taken != fate.closed else "it came and "
        yield f"{came}closed in {at_words(fate.closed)}, and {_leaving(known)}"
    elif known.spec.how == "anti":
        yield "so it does not come out: the join is an anti join"


def _in_windows(fate: WindowFate, taken: At, known: Known) -> Iterator[str]:
    if fate.invalid is not None:
        yield f"it can match nothing, and is in no window: {fate.invalid}"
        yield f"it came in {at_words(taken)}, and {_leaving(known)}"
    for window in fate.windows:
        known = known.as_of(window.over)
        bounds = f"{iso_time(window.start_us)} to {iso_time(window.end_us)}"
        yield f"{_window_name(known)} {bounds}: {_window_state(window, known)}"
        yield from _matches(window.matches, len(window.matches))
        if window.miss is not None:
            yield from _missed(window.miss, known)
            came = f"it came in {at_words(taken)}, and" if taken != window.over else "it"
            yield f"{came} {_leaving(known)}"
        elif window.over is not None and known.spec.how == "anti":
            yield "so it does not come out: the join is an anti join"


def _matches(matches: tuple[Match, ...], count: int) -> Iterator[str]:
    for match in matches[:SHOWN_MATCHES]:
        yield f"with {row_words(match.right)}  in {at_words(match.at)}"
    if count > SHOWN_MATCHES:
        yield f"and {count - SHOWN_MATCHES} more"


def _comparison(comparison: Comparison, *, decided: bool) -> Iterator[str]:
    """Why one of the right rows was picked by value, or would be now."""
    best, *others = comparison.compared
    of = f"of {len(comparison.compared):,} right rows" if others else "the only right row"
    what = f"{'largest' if comparison.largest else 'smallest'} {comparison.text}"
    if decided:
        yield f"picked for the {what}: {_value(best)}, {of} that it met"
    else:
        yield f"so far the {what} is {_value(best)}, {of} that it met: {row_words(best.right)}"
    for other in others[:SHOWN_MATCHES]:
        yield f"not picked: {_lost(best, other)}: {row_words(other.right)}"
    if len(others) > SHOWN_MATCHES:
        yield f"and {len(others) - SHOWN_MATCHES:,} more"


def _lost(best: Compared, other: Compared) -> str:
    if _value(best) != _value(other) and best.value != other.value:
        return _value(other)
    if best.right.time_us != other.right.time_us:
        return "the same, with a later time"
    return "the same at the same time, later in the log"


def _value(one: Compared) -> str:
    if one.value is None:
        return "null"
    return cell(one.value) or str(one.value)  # a cell of NaN is empty


def _open(fate: Fate | ThetaFate, known: Known) -> str:
    fitting, until_rows = fate.in_window, None
    if isinstance(fate, ThetaFate):
        fitting, until_rows = fate.fitting, fate.until_rows
    if until_rows is not None:
        text = f"open until {_rows(until_rows, 'more left ')} entered"
    else:
        closing, now = iso_time(known.window(fate.left)[1]), _stream_time(known.times(-1).right)
        text = f"open until the right stream's time passes {closing}; it is {now}"
    if fate.matches:
        return f"{text}; more may match"
    if known.spec.defers_pick and fitting:
        return f"{text}; then one of {_rows(fitting)} in its window is picked"
    return text


def _window_state(window: InWindow, known: Known) -> str:
    if window.over is not None:
        return f"over in {at_words(window.over)}"
    text = f"open until both stream times have come to {iso_time(window.end_us)}"
    if known.window_join.is_session:
        text = f"open until both stream times have passed {iso_time(window.end_us)}, or longer if rows come"
    times = known.times(-1)
    text += f"; left is {_stream_time(times.left)}, right is {_stream_time(times.right)}"
    return f"{text}; more may match" if window.matches else text


def _missed(miss: AnyMiss, known: Known, fate: Fate | ThetaFate | None = None) -> Iterator[str]:
    """Why it matched nothing. `fate`: of a row that is not in windows."""
    if isinstance(miss, WindowMiss):
        yield from _why_in_window(miss, known)
    elif isinstance(miss, ThetaMiss):
        assert isinstance(fate, ThetaFate)
        yield from _why_by_condition(miss, fate)
    else:
        yield from _why_by_key(miss)
    if miss.reason == "invalid_time":
        assert fate is not None
        yield f"it can match nothing: {fate.invalid}"
        return
    if miss.right is not None and miss.reason == "right_invalid_time":
        yield f"the right rows with this key can match nothing: {unusable(miss.right.time_us)}"
    elif miss.right is not None and miss.reason in _WHICH:
        which = (
            "missed" if isinstance(miss, WindowMiss) and miss.reason == "left_late" else _WHICH[miss.reason]
        )
        yield f"{which}: {row_words(miss.right)}"
    if isinstance(miss, ThetaMiss) and miss.outside is not None:
        assert isinstance(fate, ThetaFate)
        yield from _outside(fate, miss.outside)
    window = fate.window if isinstance(fate, ThetaFate) else None
    if isinstance(fate, Fate) and miss.reason in ("no_right_row", "outside_window"):
        window = known.window(fate.left)
    if window is not None:
        yield f"its window is {iso_time(window[0])} to {iso_time(window[1])}"


def _why_by_key(miss: Miss) -> Iterator[str]:
    match miss.reason:
        case "no_right_row":
            yield "no right row has this key"
        case "outside_window":
            yield f"the nearest right row with this key is {_beyond(miss.by_us)}"
        case "right_late":
            yield _written_late(miss, "closed")
        case "left_late":
            yield f"it came {_late(miss)}: the right row in its window had been let go in {at_words(miss.at)}"
        case "left_capped":
            yield "it had to make room for newer left rows before its window was over: the cap per key"
        case "right_capped":
            yield "a right row in its window had made room for newer right rows: the cap per key"


def _why_by_condition(miss: ThetaMiss, fate: ThetaFate) -> Iterator[str]:
    match miss.reason:
        case "right_late":
            yield _written_late(miss, "closed")
        case "left_late":
            yield f"it came {_late(miss)}: a right row in its window had been let go in {at_words(miss.at)}"
        case "condition_fails":
            yield f"of {_rows(fate.in_window)} in its window the condition holds for none"
            for text, count in (part for part in fate.failing if part.rows):
                yield f"{text} fails for {'all of them' if count == fate.in_window else f'{count:,}'}"
        case "outside_window":
            yield "no right row is in its window"
        case "no_right_row":
            yield "no right row is in its window, and the condition holds for none that the log has"


def _why_in_window(miss: WindowMiss, known: Known) -> Iterator[str]:
    name, is_session = _window_name(known), known.window_join.is_session
    match miss.reason:
        case "left_late":
            yield f"it came {_late(miss)}: the {name} was over, and it is alone in it"
            if miss.right is None:
                yield f"no right row with this key was in the {name}"
        case "right_late":
            yield _written_late(miss, "over")
        case "right_late_for_any":
            yield f"a right row that is near enough came {_late(miss)}: any session of its own was over"
        case "right_let_go":
            gone = "that is near enough had left with its own session"
            gone = gone if is_session else "in its window had been let go"
            yield f"it came {_late(miss)}: a right row {gone} in {at_words(miss.at)}"
        case "session_cut":
            longest = span(known.window_join.longest_us)
            yield f"the session was cut where it would last longer than {longest}: a right row began another"
        case "outside_window":
            beyond = _beyond(miss.by_us)
            if is_session:
                beyond = f"{span(miss.by_us or 0)} too far {_side(miss.by_us)} the session for its gap"
            yield f"no right row with this key is in it; the nearest is {beyond}"
        case "no_right_row":
            yield "no right row has this key"


def _outside(fate: ThetaFate, outside: Outside) -> Iterator[str]:
    beyond = _beyond(outside.by)
    if fate.counts_rows:
        beyond = f"{_rows(abs(outside.by), '')} outside the window, {_side(outside.by)} it"
    yield f"the condition holds for a right row that is {beyond}"
    yield f"nearest: {row_words(outside.right)}"


def _written_late(miss: AnyMiss, closing: str) -> str:
    """For a right row that came after a closing, or was written before but taken after it."""
    assert miss.by_us is not None
    if miss.by_us >= 0:
        return f"a right row in its window came {span(miss.by_us)} after it was {closing}"
    return (
        f"a right row in its window was written {span(miss.by_us)} before it was {closing}, "
        f"but was not taken until {at_words(miss.at) if miss.at else 'now'}"
    )


def _late(miss: AnyMiss) -> str:
    return "after the streams had ended" if miss.by_us is None else f"{span(miss.by_us)} late"


def _beyond(by_us: int | None) -> str:
    return f"{span(by_us or 0)} outside the window, {_side(by_us)} it"


def _side(by: int | None) -> str:
    return "before" if (by or 0) < 0 else "after"


def _rows(count: int, side: str = "right ") -> str:
    return f"{count:,} {side}row{'' if count == 1 else 's'}"


def _window_name(known: Known) -> str:
    return "session" if known.window_join.is_session else "window"


def _leaving(known: Known) -> str:
    """What became of a left row without a partner."""
    alone = known.spec.keeps_left
    return "came out alone" if alone else "does not come out: the join keeps matched rows only"


def _doubt(doubt: Doubt, known: Known) -> str:
    if doubt == "steps_gone":
        return "not certain: the step in which it came is no longer on record, nor what it met then"
    if doubt == "came_before":
        return (
            "it came before the join began afresh; what came out of it until then, the query before put out"
        )
    return f"not certain: {gone_words(known.right, 'right')}; a partner may have been there"


def gone_words(rows: KeyRows, side: str) -> str:
    since = f", written before {instant(rows.since_us)}" if rows.since_us else ""
    return f"retention has removed commits below {rows.first_commit} of the {side} stream{since}"


def row_words(row: KeyRow) -> str:
    """A row in one line: its time and what it carries."""
    said = " ".join(f"{name}={cell(value)}" for name, value in _payload(row).items())
    time = "no time" if unusable(row.time_us) else iso_time(row.time_us)
    return f"{time}  {said if len(said) <= SHOWN_CHARACTERS else said[: SHOWN_CHARACTERS - 1] + '…'}"


def at_words(at: At | None) -> str:
    if at is None:
        return "no step"
    version = "" if at.version is None else f"version {at.version}, "
    before = " or before" if at.or_before else ""
    return f"step {at.step}{before} ({version}planned {instant(at.planned_at_us)})"


def _stream_time(time_us: int) -> str:
    if time_us == NEVER:
        return "not known yet"
    return "at its end" if time_us == ENDED else f"at {iso_time(time_us)}"


def _payload(row: KeyRow) -> dict[str, Any]:
    """The columns under their own names, without the prefix that the join gives each side."""
    own = {name: value for name, value in row.values.items() if not name.startswith(("_key_", "_on_"))}
    return {name[3:] if name.startswith(("_l_", "_r_")) else name: value for name, value in own.items()}


def fate_json(fate: AnyFate, known: Known) -> dict[str, Any]:
    """What is particular to the kind of join."""
    if isinstance(fate, WindowFate):
        return {"windows": [_window_json(window) for window in fate.windows]}
    said = {"closed": at_json(fate.closed), "in_window": fate.in_window, **_found_json(fate)}
    if fate.comparison is not None:
        said["pick"] = _comparison_json(fate.comparison)
    if isinstance(fate, Fate):
        window = known.as_of(fate.closed).window(fate.left)
        return {"window": None if fate.invalid else _bounds_json(window), **said}
    return said | {
        "window": _bounds_json(fate.window) if fate.window else None,
        "failing": [{"condition": text, "rows": count} for text, count in fate.failing],
        "matched": fate.matched,
        "open_for_rows": fate.until_rows,
        "miss": {**said["miss"], "outside": _outside_json(fate)} if fate.miss else None,
    }


def _window_json(window: InWindow) -> dict[str, Any]:
    return {
        "start": iso_time(window.start_us),
        "end": iso_time(window.end_us),
        "status": window.status,
        "over": at_json(window.over),
        **_found_json(window),
    }


def _found_json(one: Fate | ThetaFate | InWindow) -> dict[str, Any]:
    miss = one.miss and {
        "reason": one.miss.reason,
        "right": row_json(one.miss.right) if one.miss.right else None,
        "by_us": one.miss.by_us,
        "at": at_json(one.miss.at),
    }
    matches = [{"right": row_json(match.right), "at": at_json(match.at)} for match in one.matches]
    return {"matches": matches, "miss": miss}


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "of": comparison.text,
        "largest": comparison.largest,
        "compared": [
            {"right": row_json(right), "value": plain(value)} for right, value in comparison.compared
        ],
    }


def _outside_json(fate: ThetaFate) -> dict[str, Any] | None:
    outside = fate.miss.outside if fate.miss else None
    if outside is None:
        return None
    return {"right": row_json(outside.right), "by_rows" if fate.counts_rows else "by_us": outside.by}


def _bounds_json(window: tuple[int, int]) -> list[str]:
    return [iso_time(edge) for edge in window]


def row_json(row: KeyRow) -> dict[str, Any]:
    return {
        "row": row.row,
        "commit": row.commit,
        "written_at": iso_time(row.written_at_us),
        "time": None if unusable(row.time_us) else iso_time(row.time_us),
        "values": plain(_payload(row)),
    }


def at_json(at: At | None) -> dict[str, Any] | None:
    if at is None:
        return None
    return {
        "step": at.step,
        "planned_at": iso_time(at.planned_at_us),
        "or_before": at.or_before,
        "version": at.version,
    }
