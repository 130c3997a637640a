"""The verbs of a theta join: see `joins/kind.py`."""

from dovetail.joins.theta.advance import advance
from dovetail.joins.theta.rebuild import rebuild, saves, snapshot
from dovetail.joins.theta.why import explain

__all__ = ["advance", "explain", "rebuild", "saves", "snapshot"]
