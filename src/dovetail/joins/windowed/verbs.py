"""The verbs of a windowed join: see `joins/kind.py`."""

from dovetail.joins.windowed.advance import advance, change
from dovetail.joins.windowed.rebuild import rebuild, saves, snapshot
from dovetail.joins.windowed.why import explain

__all__ = ["advance", "change", "explain", "rebuild", "saves", "snapshot"]
