"""The verbs of an interval join: see `joins/kind.py`."""

from dovetail.joins.interval.advance import advance
from dovetail.joins.interval.changing import change
from dovetail.joins.interval.rebuild import rebuild, saves, snapshot
from dovetail.joins.interval.why import explain

__all__ = ["advance", "change", "explain", "rebuild", "saves", "snapshot"]
