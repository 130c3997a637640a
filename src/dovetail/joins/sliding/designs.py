"""The designs there are, by name."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.joins.sliding.kang import Kang
from dovetail.joins.sliding.split_join import SplitJoin
from dovetail.joins.sliding.topology import Job, Topology

DESIGNS: dict[str, Callable[[Job], Topology]] = {"kang": Kang, "split": SplitJoin}
