"""The designs there are, by name."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.model.sliding import Design
from dovetail.sliding.cell_join import CellJoin
from dovetail.sliding.handshake import Handshake
from dovetail.sliding.kang import Kang
from dovetail.sliding.low_latency_handshake import LowLatencyHandshake
from dovetail.sliding.split_join import SplitJoin
from dovetail.sliding.topology import SlidingJob, Topology

DESIGNS: dict[Design, Callable[[SlidingJob], Topology]] = {
    "kang": Kang,
    "cell": CellJoin,
    "handshake": Handshake,
    "low_latency_handshake": LowLatencyHandshake,
    "split": SplitJoin,
}
