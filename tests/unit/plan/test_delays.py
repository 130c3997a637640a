"""When results come out, what is held, and who waits for whom: known from the plan alone."""

from __future__ import annotations

import pytest

from dovetail.plan.delays import Delay, JoinDelays, delays, late_warnings
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql

SECOND = 1_000_000
INPUTS = "".join(
    f'CREATE INPUT TABLE {name} (t TIMESTAMP, k BIGINT) FROM SCRIBE("{name}");' for name in "abc"
)


def text(joins: str, where: str = "") -> str:
    view = f"CREATE VIEW v AS SELECT a.k AS k FROM a {joins} {where};"
    return f"CREATE APPLICATION app;{INPUTS}{view} CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;"


def join(right: str, *, left: str = "a.t", how: str = "", before: int = 20, after: int = 30) -> str:
    options = "WITH (left_max_delay = INTERVAL 5 SECONDS, right_max_delay = INTERVAL 7 SECONDS)"
    window = f"{right}.t BETWEEN {left} - INTERVAL {before} SECONDS AND {left} + INTERVAL {after} SECONDS"
    return f"{how} JOIN {right} ON {right}.k = a.k AND {window} {options}"


def of(joins: str, name: str = "v", where: str = "") -> JoinDelays:
    return delays(compile_pql(text(joins, where)))[name]


def seconds(delay: Delay | None) -> float | None:
    return None if delay is None else delay.us / SECOND


@pytest.mark.parametrize(
    ("how", "pairs", "left_alone", "right_alone"),
    [
        ("", 37, None, None),  # the last partner is 30 seconds ahead, and 7 late
        ("LEFT", 37, 37, None),
        ("RIGHT", 37, None, 25),  # the last left row is 20 seconds ahead, and 5 late
        ("FULL", 37, 37, 25),
        ("LEFT SEMI", 37, None, None),
        ("LEFT ANTI", None, 37, None),
    ],
)
def test_an_interval_join(
    how: str, pairs: int | None, left_alone: int | None, right_alone: int | None
) -> None:
    found = of(join("b", how=how))
    assert tuple(map(seconds, (found.pairs, found.left_alone, found.right_alone))) == (
        pairs,
        left_alone,
        right_alone,
    )
    assert (seconds(found.left_held), seconds(found.right_held)) == (37, 25)
    assert found.waits_for == ("a", "b")


def test_a_window_in_the_past_waits_for_the_left_row_itself() -> None:
    found = of(join("b", before=60, after=-50))
    assert (seconds(found.pairs), seconds(found.left_held)) == (5, 0)


def test_windows_wait_for_their_end() -> None:
    within = "{} JOIN b ON b.k = a.k WITHIN TUMBLING '1 minute' WITH (left_max_delay = INTERVAL 5 SECONDS)"
    lazy, eager = of(within.format("LEFT")), of(within.format(""))
    assert (seconds(lazy.pairs), seconds(lazy.left_alone)) == (180, 180)  # 60, and the right stream's 120
    assert (seconds(eager.pairs), seconds(eager.left_held)) == (180, 180)


def test_delays_add_up_along_a_chain() -> None:
    chain = join("b", how="LEFT") + join("c", how="LEFT")
    first, second = of(chain, "v_with_b"), of(chain)
    assert seconds(first.left_alone) == 37
    assert seconds(second.left_alone) == 37  # the first join's rows, and the right stream with its window
    assert seconds(second.right_held) == 57  # 20 seconds before the left row, which may be 37 late
    assert second.waits_for == ("v_with_b", "c")
    assert second.late == ()
    fixed = of(join("b", how="LEFT") + join("c").replace("WITH (", 'WITH (stream_time = "fixed", '))
    assert [(side, seconds(comes), seconds(hoped)) for side, comes, hoped in fixed.late] == [("left", 37, 5)]


def test_from_the_right_row_a_pair_is_as_late_as_the_last_left_row() -> None:
    chain = join("b") + join("c", left="b.t", after=0)
    assert seconds(of(chain).pairs) == 25  # the left row is at most 20 seconds after b.t, and 5 late
    deferred = chain.replace("7 SECONDS)", '7 SECONDS, match = "one", pick = "nearest")', 1)
    assert seconds(of(deferred).pairs) == 57  # it is chosen when the window closes, 50 after b.t at most


def test_a_time_behind_an_expression_may_be_as_far_off_as_the_window_allows() -> None:
    chain = join("b") + join("c", after=0)
    assert seconds(of(chain).pairs) == 37
    assert seconds(of(chain, where="WHERE a.k + b.k > 3").pairs) == 67  # times may be 30 seconds apart


def test_what_is_learned_is_not_guessed() -> None:
    learned = join("b", how="LEFT").split("WITH")[0] + 'WITH (stream_time = "percentile")'
    found = of(learned)
    assert found.left_alone == Delay(30 * SECOND, learned=True)
    assert found.left_alone.words() == "a learned delay + 30 seconds"
    over = of(learned + join("c"))
    assert over.late == ()
    assert over.pairs is not None
    assert over.pairs.learned


def test_check_warns_where_rows_of_a_join_are_late_in_the_next() -> None:
    hurried = join("c").replace("WITH (", 'WITH (stream_time = "fixed", ')
    report = check(text(join("b", how="LEFT") + hurried))
    (warning,) = report.warnings
    assert "join `v`: rows of its left side" in warning
    assert "left_max_delay = INTERVAL '37 seconds'" in warning
    assert report.summary is not None
    lines = "\n".join(report.summary.lines())
    assert "out at most pairs 37 seconds, left rows alone 37 seconds after their time" in lines
    assert "holds left rows 37 seconds, right rows 25 seconds" in lines
    assert "waits for v_with_b, c" in lines
    patient = text(join("b", how="LEFT") + hurried.replace("INTERVAL 5 ", "INTERVAL 37 "))
    assert list(late_warnings(compile_pql(patient))) == []
    inheriting = text(join("b", how="LEFT") + join("c"))
    assert list(late_warnings(compile_pql(inheriting))) == [], "it waits as long as the first one takes"
    assert report.to_json()["joins"][1]["delays"]["waits_for"] == ("v_with_b", "c")
