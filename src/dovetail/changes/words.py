"""Changes for people, one part of the plan after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dovetail.changes.verdict import Change, Cost, Verdict, strictest

VERDICTS: dict[Verdict, str] = {
    "next step": "holds from the next step on",
    "kept": "state kept",
    "replayed": "state kept, and read from the log again where the new query needs more of it",
    "afresh": "a join begins afresh, filled from its inputs",
    "let go": "a join or an aggregate is removed, and rows that it holds do not come out; other state kept",
    "refused": "refused",
}
SHORT: dict[Verdict, str] = {
    **VERDICTS,
    "next step": "next step",
    "replayed": "window read back",
    "afresh": "begins afresh",
    "let go": "its rows in flight do not come out",
}
SAME = "no change in meaning"


def verdict_words(changes: Sequence[Change]) -> str:
    verdict = strictest(changes)
    return SAME if verdict is None else VERDICTS[verdict]


def cost_words(cost: Cost | None) -> str | None:
    """What is read, and how long that takes; None if nothing is known of it."""
    if cost is None:
        return None
    rows = None if cost.rows is None else f"{cost.rows:,} row{'s' if cost.rows != 1 else ''}"
    size = None if cost.bytes is None else f"{cost.bytes / 1e6:,.1f} MB"
    read = f"{rows} ({size})" if rows and size else rows or size
    if read is None:
        return None
    took = None if cost.seconds is None else f"about {max(0.1, cost.seconds):,.1f} s at the pace so far"
    return f"{read} to read{f', {took}' if took else ''}"


def change_lines(changes: Sequence[Change], *, places: bool = True) -> Iterator[str]:
    """What changes, what it means for rows in flight, and what else could be written."""
    part = None
    for change in changes:
        if change.part != part:
            part = change.part
            yield part
        yield f"  {change.what} ({SHORT[change.verdict]})"
        if places and change.place:
            yield from (f"    {line}" for line in change.place.split("\n"))
        for name, said in (
            ("rows in flight", change.flight),
            ("cost", cost_words(change.cost)),
            ("instead", change.instead),
        ):
            if said:
                yield f"    {name}: {said}"
