"""Changes for people, one part of the plan after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dovetail.changes.verdict import Change, Verdict, strictest

VERDICTS: dict[Verdict, str] = {
    "next step": "holds from the next step on",
    "kept": "state kept",
    "replayed": "state kept, and read from the log again where the new query needs more of it",
    "refused": "refused",
}
SHORT: dict[Verdict, str] = {**VERDICTS, "next step": "next step", "replayed": "window replayed"}
SAME = "no change in meaning"


def verdict_words(changes: Sequence[Change]) -> str:
    verdict = strictest(changes)
    return SAME if verdict is None else VERDICTS[verdict]


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
            ("cost", change.cost),
            ("instead", change.instead),
        ):
            if said:
                yield f"    {name}: {said}"
