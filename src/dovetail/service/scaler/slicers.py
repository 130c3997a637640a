"""Slicers apart from joins: they keep no state, so what they need is only to keep pace with their source.

A slicer that is a thread of its run has the cores that the run has. What it can be given is a process of its
own, if it shares one with other applications.
"""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.service.scaler.decide import UP_AFTER_S
from dovetail.service.scaler.sample import LoadSample, Verdict

FEW_ROWS = 1_000


def decide_slicers(samples: Sequence[LoadSample], pooled: bool) -> Verdict:
    """`up` means a process of its own. Tasks of joins are not the slicers' business."""
    now = samples[-1]
    recent = [sample for sample in samples if sample.at_s >= now.at_s - UP_AFTER_S]
    if now.at_s - recent[0].at_s < UP_AFTER_S * 0.8:
        return Verdict("hold", now.tasks, "too little was seen of its slicers")
    behind = [sample.unsliced_rows for sample in recent]
    if min(behind) < FEW_ROWS or behind[-1] <= behind[0]:
        return Verdict("hold", now.tasks, "its slicers keep pace")
    words = f"{behind[-1]:,} rows are not sliced yet, and there are more and more"
    if pooled:
        return Verdict("up", now.tasks, f"{words}: it gets a process of its own")
    return Verdict("hold", now.tasks, f"{words}: it has all cores of its master", stuck=True)
