"""`SET TIME ZONE 'Europe/Berlin';`: the zone in which expressions see times as dates and hours. Times
themselves are moments, whatever the zone."""

from __future__ import annotations

import re
from zoneinfo import available_timezones

from dovetail.plan.nearest import did_you_mean
from dovetail.pql.tokens import Cursor

_OFFSET = re.compile(r"[+-](0\d|1[0-8]):[0-5]\d")


def parse_time_zone(cursor: Cursor) -> str:
    name, place = cursor.string("the name of a time zone, such as 'Europe/Berlin'")
    known = {zone.lower(): zone for zone in available_timezones()}
    if not _OFFSET.fullmatch(name) and name.lower() not in known:
        raise cursor.error_at(
            place,
            f"there is no time zone `{name[:60]}`",
            expected="a name such as 'Europe/Berlin', or an offset such as '+02:00'",
            hint=did_you_mean(name, list(known.values())),
        )
    cursor.finish()
    return known.get(name.lower(), name)
