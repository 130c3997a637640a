"""How a story of `dovetail why` is written, and how it is played to a join that is driven by hand.

Rows are written as in other stories; a line of them is one commit of one side. `-` stands for null.

    l a100 b100                 two left rows are written
    step                        a step of the join takes what is there; `step 2` takes at most two rows
    end                         a step after which both streams have ended
    now 5                       steps are planned at this second; `now written-40`: 40 s before a commit
    let go right 1              retention removes the commits of a side below this one
    why a | unmatched: ...      asks for the left rows of a key, `why row 0` for one

Semicolons stand between what is on one line. Behind bars are pieces of the answer, in their order. First, as
a whole line, the fate of a row, or in each of its windows, as programs get it: its status, why it did not
match, by how many microseconds or rows, and in which step. Then the sentences that people read. A moment is
written `t100`, in microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dovetail.joins.question import Answer
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import JoinKind
from dovetail.service.words.why_words import to_json
from unit.engine.stepping import Driven, Row

SIDES = {"l": "left", "r": "right"}


def stories(text: str) -> dict[str, tuple[str, str]]:
    """By name: the kind of join, and what happens. A story begins with a line `name: KIND`."""
    found = re.findall(r"^(\S.*): (\w+)\n((?: .*\n)+)", text, re.MULTILINE)
    return {name: (kind, story) for name, kind, story in found}


def check(folder: Path, kind: IntervalSpec | JoinKind, story: str) -> None:
    join, written_us, answer = Driven.make(folder, kind), 0, ""
    for line in story.splitlines():
        before, _, wanted = line.partition("|")
        for command in before.split(";"):
            match command.split():
                case [("l" | "r") as side, *rows]:
                    written_us = join.append(SIDES[side], *map(_row, rows)).written_at_us
                case ["step", *most]:
                    join.step(max_step_rows=int(most[0]) if most else 1000)
                case ["end"]:
                    join.step(final=True)
                case ["now", time]:
                    after = time.startswith("written")
                    join.now_us = after * written_us + int(time.removeprefix("written")) * 1_000_000
                case ["let", "go", side, floor]:
                    join.retain(side, int(floor))
                case ["why", *asked]:
                    answer = "\n".join(answered(_asked(join, asked)))
                    assert answer.startswith(f"{wanted.strip()}\n"), f"{line!r}:\n{answer}"
                case unknown:
                    assert unknown == [], line
        assert wanted.strip() in answer, f"{line!r}, of which is left:\n{answer}"
        answer = answer.partition(wanted.strip())[2] if wanted else answer


def _row(word: str) -> Row:
    key, time = word.split(":") if ":" in word else (word[0], word[1:])
    number = int(key) if key.isdigit() else key
    return None if key == "-" else number, None if time == "-" else int(time)


def _asked(join: Driven, words: list[str]) -> Answer:
    if words[0] == "row":
        return join.why_row(int(words[1]))
    return join.why(words[0])


def answered(answer: Answer) -> Iterator[str]:
    """The whole answer, line by line."""
    for row in to_json(answer, "app")["rows"]:
        windows = row.get("windows", [])
        assert len(windows) != 1 or row["status"] == windows[0]["status"]
        yield ", ".join([*map(_fate, windows or [row]), *row["doubts"]])
        for line in row["words"]:
            moments = re.sub(r"1970-01-01T00:00:00\.0*(\d+)Z", r"t\1", line)
            yield re.sub(r" \(planned (20|1970-01-01 00:00:00)[^)]*\)", "", moments)


def _fate(said: dict[str, Any]) -> str:
    miss = said.get("miss")
    if miss is None:
        return str(said["status"])
    outside = miss.get("outside") or {}
    by = [miss["by_us"], outside.get("by_us"), outside.get("by_rows")]
    words = [said["status"] + ":", miss["reason"], *(f"{number:+d}" for number in by if number is not None)]
    return " ".join([*words, *([f"in step {miss['at']['step']}"] if miss["at"] else [])])
