"""Which report of a writer was there before a look began."""

from __future__ import annotations

from dovetail.log.report_times import ReportTimes


def test_the_last_report_before_a_look() -> None:
    times = ReportTimes()
    assert times.before(100) == 0
    for number, us in ((1, 100), (2, 200), (3, 300)):
        times.told(number, us)
    assert times.before(100) == 0, "it may have been a moment later"
    assert times.before(101) == 1
    assert times.before(300) == 2
    assert times.before(10_000) == 3
    times.told(4, 20_000)
    assert times.before(10_500) == 3
