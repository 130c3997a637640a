"""Every change that somebody makes or attempts, as rows of the category `service.audit`: who, how they logged
in, from where, what, and whether it was done. Kept for a year. Appending rows to the log does not count."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from dovetail.log.limits import Limits, is_set, set_limits
from dovetail.service.access.caller import AUDIT
from dovetail.service.own_rows import append_row, newest_first, own_schema

YEAR_US = 366 * 86_400_000_000
LONGEST = 2_000
SCHEMA = own_schema("by", "way", "address", "deed", "application", "outcome")


@dataclass(frozen=True)
class Deed:
    """`outcome`: `done`, or the error."""

    by: str
    way: str
    deed: str
    application: str = ""
    outcome: str = "done"
    address: str = ""


def audit(home: str, deed: Deed) -> None:
    texts = (deed.by, deed.way, deed.address, deed.deed, deed.application, deed.outcome)
    category = append_row(home, AUDIT, SCHEMA, [text[:LONGEST] for text in texts])
    if not is_set(category):
        set_limits(category, Limits(YEAR_US, None))


def audited(home: str, limit: int = 50) -> list[dict[str, Any]]:
    """The newest first."""
    return list(islice(newest_first(home, AUDIT), limit))
