"""The verbs of a theta join: see `joins/kind.py`."""

from dovetail.joins.theta.advance import advance
from dovetail.joins.theta.change import change
from dovetail.joins.theta.rebuild import rebuild, saves, snapshot
from dovetail.joins.theta.why import explain

__all__ = ["advance", "change", "explain", "rebuild", "saves", "snapshot"]
