"""Whether the log still has what an application has not read yet.

A category keeps rows for readers that live. One that was away for too long no longer holds anything back:
from then on its rows may go, and the application would go on behind a gap.
"""

from __future__ import annotations

from dovetail.errors import DovetailError
from dovetail.log.category import Category, list_categories
from dovetail.plan.application_file import list_applications, read_application
from dovetail.plan.physical import ScribeSource


def lost_rows(home: str, application: str) -> str | None:
    """In words, of the first such category."""
    if application not in list_applications(home):
        return None
    try:
        plan = read_application(home, application)
    except DovetailError:
        return None  # its own page says why it cannot run
    sources = [table.source for slicer in plan.slicers for table in slicer.inputs]
    known = set(list_categories(home))
    for source in sources:
        if isinstance(source, ScribeSource) and source.category in known:
            category = Category.open(home, source.category)
            own = [mark for mark in category.marks() if mark.name.startswith(f"{application}.")]
            for mark in own:
                if mark.gone is not None and category.first_commit() > mark.needs_commit:
                    return f"category {source.category} no longer has all that {mark.name} has not read"
    return None
