"""The durable log: categories of immutable segments, named by dense commits. No Spark in it.

<home>/log/<category>/category.json          schema, number of buckets, identity
                      generations/<n>.json       later schemas, where columns came, went or became wider
                      commits/<20 digits>.json   one atomic step; what no commit names does not exist
                      segments/*.arrow           rows, grouped by bucket
                      bundles/*.jsonl, packs/*   older commits and their small segments, many in one file
                      checkpoints/*.table        the same commits as columns, to look rows up by number
                      dictionaries/*.json        what the payload of wide rows was compressed with
                      rejected/*.jsonl           rows that could not be read, kept aside
                      readers/*.json, first.json how far back readers need the log; where it begins
                      retention.json             how long rows stay, if somebody has set it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.log.producing import writer as writer

__all__ = ["writer"]


def __getattr__(name: str) -> object:
    """Nothing is imported before it is asked for."""
    if name != "writer":
        raise AttributeError(f"module 'dovetail.log' has no attribute {name!r}")
    import importlib

    return importlib.import_module("dovetail.log.producing").writer
