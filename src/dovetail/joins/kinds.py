"""Which package serves which kind of join: the only place that knows all of them."""

from __future__ import annotations

from dovetail.joins.interval import verbs as interval
from dovetail.joins.kind import Verbs
from dovetail.joins.theta import verbs as theta
from dovetail.joins.windowed import verbs as windowed
from dovetail.model.join_kind import IntervalJoin, JoinKind, ThetaJoin, WindowedJoin

_PACKAGES: dict[type, Verbs] = {IntervalJoin: interval, WindowedJoin: windowed, ThetaJoin: theta}


def verbs_of(kind: JoinKind) -> Verbs:
    return _PACKAGES[type(kind)]
