"""Where a row went after its join, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail.service.following import Chapter
from dovetail.service.words.fate_words import fate_lines
from dovetail.service.words.why_words import left_words, to_json, verdict


class Story(NamedTuple):
    """`times`: by side, where its stream time is inherited from. `followed`: for every row that was asked
    about, where it went; None: what comes out of the join is not read by another stage."""

    times: dict[str, str]
    followed: list[tuple[Chapter, ...]] | None


def time_lines(story: Story) -> Iterator[str]:
    for side, origin in story.times.items():
        yield f"the {side} stream time is inherited from {origin}"


def chapter_lines(chapter: Chapter, indent: int) -> Iterator[tuple[int, str]]:
    """Each line with its indent: what comes after is further in."""
    answer = chapter.answer
    if answer is None:
        yield indent, chapter.said
    else:
        (fate,) = answer.fates
        yield indent, f"{chapter.said}, {left_words(fate)}"
        yield indent + 2, verdict(fate)
        for text in fate_lines(fate, answer.known):
            yield indent + 4, text
    for one in chapter.then:
        yield from chapter_lines(one, indent + (2 if answer is None else 4))


def story_json(story: Story) -> dict[str, Any]:
    """Only what there is to say: a join by itself has neither."""
    said: dict[str, Any] = {}
    if story.times:
        said["times_inherited_from"] = story.times
    if story.followed is not None:
        said["followed"] = [[_chapter_json(one) for one in row] for row in story.followed]
    return said


def _chapter_json(chapter: Chapter) -> dict[str, Any]:
    answer = to_json(chapter.answer, "") if chapter.answer else {}
    answer.pop("application", None)
    return {"said": chapter.said, **answer, "then": [_chapter_json(one) for one in chapter.then]}
