"""What became of a left row: every answer that `dovetail why` has, in stories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.engine import step_log
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import JoinKind, ThetaJoin, WindowedJoin
from dovetail.model.theta import Theta
from dovetail.model.window_join import hopping, session, tumbling
from laws.theta import EVEN, band, counting
from stories.asking import check, stories

LEFT = IntervalSpec(30, 40, "left")
NEAREST = replace(LEFT, match="one", pick="nearest")
CONDITION = Theta((band(-2, 2),), (EVEN,))
"""At most two apart, and both even or both odd."""
KINDS: dict[str, IntervalSpec | JoinKind] = {
    "LEFT": LEFT,
    "NEAREST": NEAREST,
    "LEFT_CAP": replace(LEFT, left_cap=1),
    "RIGHT_CAP": replace(LEFT, right_cap=1),
    "TUMBLING": WindowedJoin("left", tumbling(100)),
    "EAGER": WindowedJoin("inner", tumbling(100, "eager")),
    "HOPPING": WindowedJoin("left", hopping(100, 50)),
    "SESSION": WindowedJoin("left", session(10, 40)),
    "NEAR": ThetaJoin(LEFT, CONDITION),
    "NEAREST_NEAR": ThetaJoin(NEAREST, CONDITION),
    "LAST_ROWS": ThetaJoin(IntervalSpec(0, 0, "left"), counting(Theta((band(0, 0),)), 2, 3)),
}
"""LAST_ROWS: the last two left rows, the last three right ones."""

INTERVAL = """
with whom, and in which step: LEFT
    l a100 b100; step; r a120 b900; now 5; step
    why a      | matched
               | with t120  id=0  in step 2 (planned 1970-01-01 00:00:05)

open until the right stream has passed its window: LEFT
    l a100; r b140; step
    why a      | open
               | open until the right stream's time passes t140; it is at t140
    r b141; step
    why a      | unmatched: no_right_row
               | no right row has this key
               | its window is t70 to t140
               | it came in step 1, closed in step 2, and came out alone

matched, and still open: LEFT
    l a100; r a100; step
    why a      | matched
               | with t100  id=0  in step 1
               | open until the right stream's time passes t140; it is at t100; more may match

a pick that waits for the end of the window: NEAREST
    l a100; r a110 a101; step
    why a      | open
               | open until the right stream's time passes t140; it is at t110
               | then one of 2 right rows in its window is picked
    r b500; step
    why a      | matched
               | with t101  id=1  in step 2

no right row has the key: LEFT
    l a100; r b500; step
    why a      | unmatched: no_right_row
               | no right row has this key
               | it came and closed in step 1, and came out alone

the nearest right row is before the window: LEFT
    l a100; r a10 a60 a500; end
    why a      | unmatched: outside_window -10
               | the nearest right row with this key is 10 µs outside the window, before it
               | nearest: t60  id=1

the nearest right row is after the window: LEFT
    l a100; r a145 a10; end
    why a      | unmatched: outside_window +5
               | the nearest right row with this key is 5 µs outside the window, after it
               | nearest: t145  id=0

the right row came after the left one was closed: LEFT
    l a100; r b500; r a120; now written-40; step 2
    why a      | unmatched: right_late +40000000
               | a right row in its window came 40 s after it was closed
               | too late: t120  id=1
    step
    why a      | unmatched: right_late +40000000 in step 2
               | a right row in its window came 40 s after it was closed
               | too late: t120  id=1

the right row was written in time, but taken late: LEFT
    l a100; r b500; r a120; now written+3; step 2; step
    why a      | unmatched: right_late -3000000 in step 2
               | a right row in its window was written 3 s before it was closed
               | but was not taken until step 2
               | too late: t120  id=1

the left row came after the right one was let go: LEFT
    l b500; r a120; step; l a100; r b600; step
    why a      | unmatched: left_late +400 in step 1
               | it came 400 µs late: the right row in its window had been let go in step 1
               | let go: t120  id=0

the left row came after the streams had ended: LEFT
    l b100; r a120; end; l a100; end
    why a      | unmatched: left_late in step 1
               | it came after the streams had ended: the right row in its window had been let go in step 1
               | let go: t120  id=0

a left row without a time: LEFT
    l a-; r a100; step
    why a      | unmatched: invalid_time
               | it can match nothing: the time is null

right rows without a time: LEFT
    l a100; r a- b500; step
    why a      | unmatched: right_invalid_time
               | the right rows with this key can match nothing: the time is null

a right row that had to make room: RIGHT_CAP
    r a120 a130; step; l a85; r b500; step
    why a      | unmatched: right_capped in step 1
               | a right row in its window had made room for newer right rows: the cap per key
               | missed: t120  id=0

a left row that had to make room: LEFT_CAP
    l a100 a105; step; r a120; step
    why a      | unmatched: left_capped
               | it had to make room for newer left rows before its window was over: the cap per key
               | matched
               | with t120  id=0  in step 2
               | open until the right stream's time passes t145; it is at t120; more may match

not taken yet: LEFT
    l a100
    why a      | not_taken
               | no step of the join is on record
    step; l b100
    why b      | not_taken
               | the join has not come to it

a partner that retention may have removed: LEFT
    r b75; l a100 c110 d106; r b500; end; let go right 1
    why a      | unmatched: no_right_row, right_rows_gone
               | no right row has this key
               | not certain: retention has removed commits below 1 of the right stream
    why c      | unmatched: no_right_row
               | no right row has this key
    why d      | unmatched: no_right_row
               | no right row has this key

records of steps are gone: LEFT
    l a100; r a110; step; l a200; r a210; step; l a300; r a310; step; l a400; r a410; step
    why a      | matched, steps_gone
               | with t110  id=0  in step 3 or before
               | not certain: the step in which it came is no longer on record, nor what it met then
               | matched, steps_gone
               | matched, steps_gone
               | matched
               | with t410  id=3  in step 4
               | open until the right stream's time passes t440; it is at t410; more may match
"""

WITHIN_WINDOWS = """
with whom, in which window and when: TUMBLING
    l a110 b300; step; r a150 b300; now 5; step
    why a      | matched
               | window t100 to t200: over in step 2 (planned 1970-01-01 00:00:05)
               | with t150  id=0  in step 2 (planned 1970-01-01 00:00:05)

open until both streams have come to the end of the window: TUMBLING
    l a110 b250; r a150 b199; step
    why a      | open
               | window t100 to t200: open until both stream times have come to t200
               | left is at t250, right is at t199
    r b200; step
    why a      | matched
               | window t100 to t200: over in step 2
               | with t150  id=0  in step 2

eager: a match comes before the end: EAGER
    l a110; step; r a150; step
    why a      | matched
               | window t100 to t200: open until both stream times have come to t200
               | left is at t110, right is at t150; more may match
               | with t150  id=0  in step 2
    end
    why a      | matched
               | with t150  id=0  in step 2

a row is in several windows: HOPPING
    l a110 b151; r a70 b151; step
    why a      | matched, open
               | with t70  id=0  in step 1
               | window t100 to t200: open until both stream times have come to t200
               | left is at t151, right is at t151
    end
    why a      | matched, unmatched: outside_window -30
               | with t70  id=0  in step 1
               | no right row with this key is in it; the nearest is 30 µs outside the window, before it
               | nearest: t70  id=0
               | it came in step 1, and came out alone

no right row has the key, in windows: TUMBLING
    l a110; r b110; end
    why a      | unmatched: no_right_row
               | no right row has this key
               | it came out alone

the nearest is in the window before: TUMBLING
    l a199; r a10 a90 a500; end
    why a      | unmatched: outside_window -10
               | no right row with this key is in it; the nearest is 10 µs outside the window, before it
               | nearest: t90  id=1

the nearest is in the window after: TUMBLING
    l a199; r a10 a200; end
    why a      | unmatched: outside_window +1
               | no right row with this key is in it; the nearest is 1 µs outside the window, after it
               | nearest: t200  id=1

the right row came when the window was over: TUMBLING
    l a110 b300; r b300; r a120; now written-40; step 3
    why a      | unmatched: right_late +40000000
               | a right row in its window came 40 s after it was over
               | too late: t120  id=1
    step
    why a      | unmatched: right_late +40000000 in step 2
               | a right row in its window came 40 s after it was over
               | too late: t120  id=1

the left row came when the window was over: TUMBLING
    l b300; r a150 b260; step; l a110; step
    why a      | unmatched: left_late +60
               | it came 60 µs late: the window was over, and it is alone in it
               | missed: t150  id=0

the left row came when the window was over, and nothing was in it: TUMBLING
    l b300; r b150 b260; step; l a110; step
    why a      | unmatched: left_late +60
               | it came 60 µs late: the window was over, and it is alone in it
               | no right row with this key was in the window

after an end a row is not late, but its partner is gone: TUMBLING
    l b110; r a120; end; l a110; end
    why a      | unmatched: right_let_go in step 1
               | it came after the streams had ended: a right row in its window had been let go in step 1
               | let go: t120  id=0

rows without a time are in no window: TUMBLING
    l a- b110; r b-; end
    why a      | unmatched
               | it can match nothing, and is in no window: the time is null
    why b      | unmatched: right_invalid_time
               | the right rows with this key can match nothing: the time is null

a row with a null key is asked for by its number: TUMBLING
    l -:110; r -:110 b110; end
    why row 0  | unmatched
               | it can match nothing, and is in no window: the time is null

not taken yet, in windows: TUMBLING
    l a110
    why a      | not_taken
               | no step of the join is on record

the session a row belongs to: SESSION
    l a100 a130; r a108 a117; step
    why row 0  | open
               | session t100 to t127: open until both stream times have passed t127
               | or longer if rows come; left is at t130, right is at t117
    l b160; r b160; step
    why a      | matched
               | session t100 to t127: over in step 2
               | with t108  id=0  in step 2
               | with t117  id=1  in step 2
               | unmatched: outside_window -3
               | no right row with this key is in it
               | the nearest is 3 µs too far before the session for its gap
               | nearest: t117  id=1

an open session may grow: SESSION
    l a100; step
    why a      | open
               | session t100 to t110: open until both stream times have passed t110
               | or longer if rows come; left is at t100, right is not known yet

a session that was cut: SESSION
    l a100 a109 a118 a127 a136; r a141; end
    why row 4  | unmatched: session_cut in step 1
               | the session was cut where it would last longer than 40 µs: a right row began another
               | began another: t141  id=0

the right row was late for any session: SESSION
    l a100 b110; r b110; step; r a95; step; end
    why a      | unmatched: right_late_for_any +5 in step 2
               | a right row that is near enough came 5 µs late: any session of its own was over
               | too late: t95  id=1

the right row had left with its own session: SESSION
    l b110; r a95 b110; step; l a102; end
    why a      | unmatched: right_let_go +8 in step 1
               | it came 8 µs late: a right row that is near enough had left with its own session in step 1
               | let go: t95  id=0

a left row late for any session: SESSION
    l b130; r a101 b130; step; l a100; step
    why a      | unmatched: left_late +20
               | it came 20 µs late: the session was over, and it is alone in it
               | missed: t101  id=0

a partner that retention may have removed from a window: TUMBLING
    r b110; l a120 c210; r b500; end; let go right 1
    why a      | unmatched: no_right_row, right_rows_gone
               | no right row has this key
               | not certain: retention has removed commits below 1 of the right stream
    why c      | unmatched: no_right_row
               | no right row has this key

records of steps are gone, in windows: TUMBLING
    l a100; r a110; step; l a200; r a210; step; l a300; r a310; step; l a400; r a410; step
    why a      | matched, steps_gone
               | window t100 to t200: over in step 3 or before
               | with t110  id=0  in step 3 or before
               | not certain: the step in which it came is no longer on record, nor what it met then
               | matched, steps_gone
               | matched, steps_gone
               | with t310  id=2  in step 4
               | not certain: the step in which it came is no longer on record, nor what it met then
               | open
               | window t400 to t500: open until both stream times have come to t500
               | left is at t400, right is at t410
"""

THETA = """
with whom, and in which step, by a condition: NEAR
    l 10:100 50:100; step; r 12:120 11:120 10:900; now 5; step
    why row 0  | matched
               | with t120  id=0  in step 2 (planned 1970-01-01 00:00:05)

open until the right stream has passed, by a condition: NEAR
    l 10:100; r 11:140; step
    why row 0  | open
               | open until the right stream's time passes t140; it is at t140
    r 10:120; step
    why row 0  | matched
               | with t120  id=1  in step 2
               | open until the right stream's time passes t140; it is at t140; more may match

a pick by a condition: NEAREST_NEAR
    l 10:100; r 10:110 12:101 11:100; step
    why row 0  | open
               | open until the right stream's time passes t140; it is at t110
               | then one of 2 right rows in its window is picked
    r 0:500; step
    why row 0  | matched
               | with t101  id=1  in step 2

in the window the condition fails, and where: NEAR
    l 10:100; r 11:110 20:110 13:120 9:90 10:171; end
    why row 0  | unmatched: condition_fails +31
               | of 4 right rows in its window the condition holds for none
               | left._on_0 - right._on_0 >= -2 fails for 2
               | (left._on_0 + right._on_0) % 2 = 0 fails for 3
               | closest: t110  id=0
               | the condition holds for a right row that is 31 µs outside the window, after it
               | nearest: t171  id=4
               | its window is t70 to t140
               | it came and closed in step 1, and came out alone

the condition holds for a row before the window: NEAR
    l 10:100; r 10:10 10:60 10:500; end
    why row 0  | unmatched: outside_window -10
               | no right row is in its window
               | the condition holds for a right row that is 10 µs outside the window, before it
               | nearest: t60  id=1

the condition holds for a row after the window: NEAR
    l 10:100; r 10:145 10:10; end
    why row 0  | unmatched: outside_window +5
               | no right row is in its window
               | the condition holds for a right row that is 5 µs outside the window, after it
               | nearest: t145  id=0

nothing that would match: NEAR
    l 10:100; r 11:500; end
    why row 0  | unmatched: no_right_row
               | no right row is in its window, and the condition holds for none that the log has

the right row came after closing, by a condition: NEAR
    l 10:100; r 0:500; r 10:120; now written-40; step 2
    why row 0  | unmatched: right_late +40000000
               | a right row in its window came 40 s after it was closed
               | too late: t120  id=1
    step
    why row 0  | unmatched: right_late +40000000 in step 2
               | a right row in its window came 40 s after it was closed
               | too late: t120  id=1

the left row came after the right one was let go, by a condition: NEAR
    l 0:500; r 10:120; step; l 10:100; r 0:600; step
    why row 1  | unmatched: left_late +400 in step 1
               | it came 400 µs late: a right row in its window had been let go in step 1
               | let go: t120  id=0

after an end the streams begin again: NEAR
    l 0:500; r 10:120; step; end; l 10:100; step
    why row 0  | unmatched: no_right_row
               | no right row is in its window, and the condition holds for none that the log has
               | it came in step 1, closed in step 2, and came out alone
    why row 1  | open
               | open until the right stream's time passes t140; it is not known yet

a left row without a time, by a condition: NEAR
    l 10:-; r 10:100; step
    why row 0  | unmatched: invalid_time
               | it can match nothing: the time is null

a null operand fails: NEAR
    l -:100; r 10:100; end
    why row 0  | unmatched: condition_fails
               | of 1 right row in its window the condition holds for none
               | left._on_0 - right._on_0 >= -2 fails for all of them
               | left._on_0 - right._on_0 <= 2 fails for all of them
               | (left._on_0 + right._on_0) % 2 = 0 fails for all of them
               | closest: t100  id=0

not taken yet, by a condition: NEAR
    l 10:100
    why row 0  | not_taken
               | no step of the join is on record

a partner of a condition that retention may have removed: NEAR
    r 0:75; l 10:100 10:110; r 0:500; end; let go right 1
    why row 0  | unmatched: no_right_row, right_rows_gone
               | no right row is in its window, and the condition holds for none that the log has
               | not certain: retention has removed commits below 1 of the right stream
    why row 1  | unmatched: no_right_row
               | no right row is in its window, and the condition holds for none that the log has

records of steps are gone, by a condition: NEAR
    l 10:100; r 10:110; step; l 10:200; r 10:210; step; l 10:300; r 10:310; step; l 10:400; r 10:410; step
    why row 0  | matched, steps_gone
               | with t110  id=0  in step 3 or before
               | not certain: the step in which it came is no longer on record, nor what it met then
    why row 3  | matched
               | with t410  id=3  in step 4
               | open until the right stream's time passes t440; it is at t410; more may match

open until two more rows have entered: LAST_ROWS
    l 1:10; r 2:10; step
    why row 0  | open
               | open until 2 more left rows entered
    l 3:10 4:10; r 1:10; step
    why row 0  | unmatched: condition_fails +1
               | of 1 right row in its window the condition holds for none
               | left._on_0 - right._on_0 >= 0 fails for all of them
               | closest: t10  id=0
               | the condition holds for a right row that is 1 row outside the window, after it
               | nearest: t10  id=1

a right row that had entered too early: LAST_ROWS
    r 1:10 2:10 3:10 4:10; step; l 1:10 2:10; end
    why row 0  | unmatched: condition_fails -1
               | of 3 right rows in its window the condition holds for none
               | left._on_0 - right._on_0 >= 0 fails for all of them
               | closest: t10  id=1
               | the condition holds for a right row that is 1 row outside the window, before it
               | nearest: t10  id=0
    why row 1  | matched
               | with t10  id=1  in step 2

a right row from before an end: LAST_ROWS
    r 1:10; l 2:10; end; l 1:10; end
    why row 1  | unmatched: left_late in step 1
               | it came after the streams had ended: a right row in its window had been let go in step 1
               | let go: t10  id=0
"""

STORIES = {**stories(INTERVAL), **stories(WITHIN_WINDOWS), **stories(THETA)}


@pytest.mark.parametrize("name", STORIES)
def test_story(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, story = STORIES[name]
    if name.startswith("records of steps are gone"):  # only the last two are kept
        monkeypatch.setattr(step_log, "CHUNK_STEPS", 1)
        monkeypatch.setattr(step_log, "KEPT_CHUNKS", 2)
    check(tmp_path, KINDS[kind], story)
