"""Lengths of time as Python has them: text as PQL reads it, or a `datetime.timedelta`."""

from __future__ import annotations

import datetime

from dovetail.errors import PlanError
from dovetail.plan.interval_literal import LONGEST_US, text_us

Duration = str | datetime.timedelta


def duration_us(duration: object, what: str) -> int:
    try:
        if isinstance(duration, datetime.timedelta):
            us = duration // datetime.timedelta(microseconds=1)
            if abs(us) > LONGEST_US:
                raise ValueError("it is longer than ten years")
            return us
        if not isinstance(duration, str):
            raise ValueError("neither text nor a timedelta")
        return text_us(duration)
    except ValueError as error:
        raise PlanError(
            f"{what}={duration!r} is not a duration: {error}",
            expected="such as '3 minutes', '1 hour 30 seconds' or a datetime.timedelta",
        ) from error
