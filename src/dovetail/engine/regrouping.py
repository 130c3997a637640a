"""When the number of tasks changes: what becomes of the running totals, and of the indexes of the old tasks.

Law: totals over all tasks are the same before and after. Counts go to the first task. The most rows that a
task held at a time is not a count: it is shared out by buckets, as the rows are. If one task got it all, it
would be added to what the others hold now, and grow with every change.
"""

from __future__ import annotations

from dovetail.model.share import Share

PEAKS = ("peak_rows", "peak_index_bytes")


def dealt_totals(totals: dict[str, int], share: Share) -> dict[str, int]:
    """A task's part of the totals of all tasks before."""
    counts = {name: count for name, count in totals.items() if name not in PEAKS and share.task == 0}
    peaks = {
        name: totals[name] * share.high // share.buckets - totals[name] * share.low // share.buckets
        for name in PEAKS
        if name in totals
    }
    return counts | peaks
