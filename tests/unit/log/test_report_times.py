"""Which report of a writer was there before a look began."""

from __future__ import annotations

from dovetail.log.report_times import MOST, ReadTimes, ReportTimes


def test_the_last_report_before_a_look() -> None:
    times = ReportTimes()
    assert times.before(100) == 0
    for number, us in ((1, 100), (2, 200), (3, 300)):
        times.written(number, us)
    assert times.before(100) == 0, "it may have been a moment later"
    assert times.before(101) == 1
    assert times.before(300) == 2
    assert times.before(10_000) == 3
    times.written(4, 20_000)
    assert times.before(10_500) == 3


def test_when_a_report_was_not_there_yet() -> None:
    times = ReadTimes()
    times.read(5, 100, 0)
    assert times.without(5) is None, "it may have been there for long"
    assert times.without(6) == 100
    times.read(6, 200, 5)
    times.read(6, 300, 5)
    assert (times.without(6), times.without(7)) == (100, 300)
    times.read(1, 400, 0)
    assert times.without(1) == 300, "another run, none of whose reports was there at 300"


def test_what_is_older_than_the_answer_is_forgotten() -> None:
    times = ReadTimes()
    for number in range(100):
        times.read(number, 10 * number, max(0, number - 2))
        assert len(times) <= 4
    assert times.without(97) == 960


def test_a_stream_that_never_rests_keeps_little() -> None:
    """And nothing is taken for younger than it is."""
    written, read = ReportTimes(), ReadTimes()
    for number in range(1, 10_000):
        written.written(number, 10 * number)
        read.read(number, 10 * number + 5, 0)
        assert max(len(written), len(read)) <= MOST
    assert read.without(10_000) == 99_995
    for look_us in range(50_000, 100_000, 777):
        assert written.before(look_us) <= (look_us - 1) // 10
    found = read.without(9_000)
    assert found is not None
    assert 15 <= found <= 89_995
