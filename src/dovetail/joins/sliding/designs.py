"""The designs there are, by name."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.joins.sliding.cell_join import CellJoin
from dovetail.joins.sliding.handshake import Handshake
from dovetail.joins.sliding.kang import Kang
from dovetail.joins.sliding.low_latency_handshake import LowLatencyHandshake
from dovetail.joins.sliding.split_join import SplitJoin
from dovetail.joins.sliding.topology import Job, Topology

DESIGNS: dict[str, Callable[[Job], Topology]] = {
    "kang": Kang,
    "cell": CellJoin,
    "handshake": Handshake,
    "low_latency_handshake": LowLatencyHandshake,
    "split": SplitJoin,
}
