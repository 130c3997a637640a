"""What the service does about an application: small stories, each a moment with what follows from it."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest

from dovetail.service.keeping.processes import End, Process, boot
from dovetail.service.keeping.reconcile import (
    LOOP_WAIT_US,
    OFFERED_US,
    PATIENCE_US,
    POOL_PATIENCE_US,
    Decision,
    Past,
    decide,
    observe,
)
from dovetail.service.keeping.wanted import Wanted

SECOND = 1_000_000
NOW = 1_000 * SECOND
RUNNING = Wanted("clicks", 7, "running", "query", "ada", "ada", 0, "deployed")
POOLED = replace(RUNNING, place="pool")
STOPPED = replace(RUNNING, state="stopped", deed="stopped")
DELETED = replace(RUNNING, state="deleted", deed="deleted")
LOST = End("clicks", 7, NOW, {"condition": "RUN_FAILED", "what": "a worker died"})
WRONG = End("clicks", 7, NOW, {"condition": "PLAN_INVALID", "what": "no such column"})
PAST = Past(revision=7)


def process(revision: int = 7, **other: Any) -> Process:
    """Of revision 7 it runs the query that is wanted, of others another one."""
    query = RUNNING.query if revision == 7 else "another"
    one = Process("clicks", revision, socket.gethostname(), boot(), 123, 1, 0, query, 0)
    return replace(one, **other)


def decided(
    wanted: Wanted, *alive: Process, held: bool = False, end: End | None = None, past: Past = PAST
) -> Decision:
    return decide(wanted, alive, held, end, past, NOW)


@pytest.mark.parametrize(
    ("wanted", "alive", "said", "action", "condition"),
    [
        (RUNNING, [], {}, "start", "starting"),
        (RUNNING, [process()], {}, "nothing", "running"),
        (RUNNING, [], {"held": True}, "nothing", "elsewhere"),
        (RUNNING, [process(6)], {}, "offer", "changing"),
        (RUNNING, [process(6), process()], {}, "nothing", "running"),
        (RUNNING, [process(6, pid=99), process()], {}, "ask to end", "changing"),
        (RUNNING, [process(6, pool="pool-1")], {}, "ask to end", "stopping"),
        (RUNNING, [process(pool="pool-1")], {}, "ask to end", "stopping"),
        (RUNNING, [process(master="local[1]")], {}, "ask to end", "stopping"),
        (POOLED, [process()], {}, "ask to end", "stopping"),
        (POOLED, [process(pool="pool-1")], {}, "nothing", "running"),
        (POOLED, [process(6, pool="pool-1")], {}, "offer", "changing"),
        (replace(RUNNING, reslice=True), [process(6)], {}, "ask to end", "stopping"),
        (replace(POOLED, begins=("a=latest",)), [process(6, pool="pool-1")], {}, "ask to end", "stopping"),
        (replace(RUNNING, reslice=True), [process()], {}, "nothing", "running"),
        (replace(RUNNING, reslice=True), [], {}, "start", "starting"),
        (RUNNING, [], {"end": WRONG}, "nothing", "failed"),
        (RUNNING, [process(6)], {"end": WRONG}, "nothing", "failed"),
        (STOPPED, [], {}, "nothing", "stopped"),
        (STOPPED, [], {"held": True}, "nothing", "elsewhere"),
        (STOPPED, [process()], {}, "ask to end", "stopping"),
        (STOPPED, [process(6), process()], {}, "ask to end", "stopping"),
        (STOPPED, [process(host="another")], {}, "nothing", "elsewhere"),
        (DELETED, [process()], {}, "ask to end", "stopping"),
        (DELETED, [], {}, "nothing", "stopped"),
    ],
)
def test_what_follows(
    wanted: Wanted, alive: list[Process], said: dict[str, Any], action: str, condition: str
) -> None:
    found = decided(wanted, *alive, **said)
    assert (found.action, found.condition) == (action, condition)


def test_an_error_that_no_repetition_mends_waits_for_another_query() -> None:
    assert decided(RUNNING, end=WRONG).why == "no such column"
    again = replace(RUNNING, revision=8)
    assert decided(again, end=WRONG, past=Past(revision=8)).action == "start"


def test_a_change_that_fails_leaves_the_revision_before_running() -> None:
    found = decided(RUNNING, process(6), end=WRONG)
    assert found.action == "nothing"
    assert found.why == "no such column; revision 6 goes on"


def test_a_process_that_dies_is_started_again_later_each_time() -> None:
    waits = []
    for failures in range(1, 5):
        past = replace(PAST, failures=failures, ended_at_us=NOW)
        assert decided(RUNNING, end=LOST, past=past).condition == "waiting"
        wait = next(s for s in range(200) if _after(s, past).action == "start")
        waits.append(wait)
    assert waits == [1, 2, 4, 8]


def test_after_five_failures_in_a_row_it_is_a_crash_loop() -> None:
    past = replace(PAST, failures=5, ended_at_us=NOW)
    found = decided(RUNNING, end=LOST, past=past)
    assert (found.action, found.condition) == ("nothing", "crash loop")
    assert "5 times in a row" in found.why
    assert "a worker died" in found.why
    assert _after(LOOP_WAIT_US // SECOND, past).action == "start"


@pytest.mark.parametrize("condition", ["CATEGORY_NOT_FOUND", "UNREACHABLE", "HOME_UNUSABLE"])
def test_a_source_or_sink_that_is_away_is_tried_every_minute_and_is_no_crash_loop(condition: str) -> None:
    away = End("clicks", 7, NOW, {"condition": condition, "what": "there is no category clicks"})
    past = replace(PAST, failures=50, ended_at_us=NOW)
    found = decided(RUNNING, end=away, past=past)
    assert found.condition == "waiting"
    assert "there is no category clicks" in found.why
    assert decide(RUNNING, [], False, away, past, NOW + 60 * SECOND).action == "start"


def _after(seconds: int, past: Past) -> Decision:
    return decide(RUNNING, [], False, LOST, past, NOW + seconds * SECOND)


def test_a_process_that_does_not_end_is_killed() -> None:
    asked = replace(PAST, asked_at_us=NOW - PATIENCE_US)
    assert decided(STOPPED, process(), past=asked).action == "nothing"
    late = replace(asked, asked_at_us=NOW - PATIENCE_US - 1)
    assert decided(STOPPED, process(), past=late).action == "kill"


def test_a_member_of_a_pool_is_given_longer_because_the_others_would_go_with_it() -> None:
    member = process(pool="pool-1")
    asked = replace(PAST, asked_at_us=NOW - PATIENCE_US - 1)
    assert decided(STOPPED, member, past=asked).action == "ask to end"
    late = replace(asked, asked_at_us=NOW - POOL_PATIENCE_US - 1)
    found = decided(STOPPED, member, past=late)
    assert found.action == "kill"
    assert "pool-1 is killed" in found.why


def test_a_pool_is_asked_again_and_a_process_of_its_own_is_not() -> None:
    asked = replace(PAST, asked_at_us=NOW)
    member = process(pool="pool-1")
    found = decide(STOPPED, [member, process(6)], False, None, asked, NOW)
    assert (found.action, found.condition, found.targets) == ("ask to end", "stopping", (member,))


def test_an_offer_is_made_once_and_waited_for_so_long() -> None:
    offered = replace(PAST, offered_at_us=NOW - OFFERED_US)
    assert decided(RUNNING, process(6), past=offered).action == "nothing"
    late = replace(offered, offered_at_us=NOW - OFFERED_US - 1)
    found = decided(RUNNING, process(6), past=late)
    assert (found.action, found.condition) == ("ask to end", "stopping")
    assert "did not go on with the changed query" in found.why


@pytest.mark.parametrize(
    ("wanted", "words"), [(POOLED, "it moves to a pool"), (RUNNING, "it moves to a process of its own")]
)
def test_a_move_says_where_to(wanted: Wanted, words: str) -> None:
    there = process(pool="" if wanted.place == "pool" else "pool-2")
    assert words in decided(wanted, there).why
    assert decided(wanted).action == "start"


def test_a_restart_ends_the_process_and_then_starts_another() -> None:
    again = replace(RUNNING, revision=8, restarts=1)
    past = Past(revision=8)
    found = decided(again, process(7), past=past)
    assert (found.action, found.condition) == ("ask to end", "stopping")
    assert decided(again, past=past).action == "start"


def test_a_revision_with_the_same_query_needs_no_other_process() -> None:
    """Stopped and started again before anybody looked: what runs is what is wanted."""
    found = decided(replace(RUNNING, revision=9), process(7), past=Past(revision=9))
    assert (found.action, found.condition) == ("nothing", "running")


def test_failures_are_counted_in_a_row_and_forgotten_with_time() -> None:
    alive = replace(PAST, was_alive=True, started_at_us=NOW - SECOND, failures=2)
    assert observe(alive, RUNNING, [], LOST, NOW).failures == 3
    assert observe(alive, RUNNING, [], None, NOW).failures == 3, "gone without a word"
    healthy = replace(alive, started_at_us=NOW - 3600 * SECOND)
    assert observe(healthy, RUNNING, [], LOST, NOW).failures == 1
    assert observe(alive, RUNNING, [], End("clicks", 7, NOW, None), NOW).failures == 0
    assert observe(alive, replace(RUNNING, revision=8), [process()], None, NOW).failures == 0


def test_a_clock_that_is_set_back_delays_nothing_for_longer_than_it_takes() -> None:
    """A day back: a process that failed a moment ago is started in seconds, and not in a day."""
    past = replace(PAST, failures=3, ended_at_us=NOW, asked_at_us=NOW, offered_at_us=NOW)
    back = NOW - 86_400 * SECOND
    seen = observe(past, RUNNING, [], LOST, back)
    assert decide(RUNNING, [], False, LOST, seen, back).condition == "waiting"
    assert decide(RUNNING, [], False, LOST, seen, back + 4 * SECOND).action == "start"
    stopping = observe(past, STOPPED, [process()], None, back)
    late = back + PATIENCE_US + SECOND
    assert decide(STOPPED, [process()], False, None, stopping, late).action == "kill"


def test_what_is_seen_once_is_counted_once() -> None:
    alive = replace(PAST, was_alive=True, started_at_us=NOW - SECOND)
    past = observe(alive, RUNNING, [], LOST, NOW)
    assert observe(past, RUNNING, [], LOST, NOW + SECOND) == past
