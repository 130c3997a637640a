"""Where rows are kept that could not be read."""

from __future__ import annotations


def rejects_category(application: str, table: str) -> str:
    """The category of the unreadable rows of an input table."""
    return f"{application}.rejects.{table}"
