"""An input that gets other sources, again and again: each commit of each source enters once per reading, from
where it was said to begin, and up to where it was left."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from faults.test_swap_crash_points import Application, plan_with
from laws.effort import examples

SOURCES = ("old", "new")
VERBS = ("feed old", "feed new", "run", "run", "change", "change")
OPERATIONS = st.lists(st.sampled_from(VERBS), max_size=12)
ROWS = 3


@examples(usual=8, thorough=1000)
@given(data=st.data(), operations=OPERATIONS)
def test_commits_enter_once_from_where_it_was_said(data: st.DataObject, operations: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        application = Application(Path(folder))
        there: dict[str, list[int]] = {name: [] for name in SOURCES}
        current, at, left, entered = "old", 0, dict[str, int](), list[int]()
        started = False
        for number, operation in enumerate([*operations, "run"]):
            verb, _, name = operation.partition(" ")
            if verb == "feed":
                application.feed(name, 10 * number)
                there[name].append(10 * number)
            elif verb == "run":
                if not started:
                    application.start(plan_with(current))
                    started = True
                application.run()
                entered += there[current][at:]
                at = len(there[current])
            elif started:
                to = data.draw(st.sampled_from([one for one in SOURCES if one != current]))
                ways = ["earliest", "latest", str(data.draw(st.integers(0, len(there[to]))))]
                where = data.draw(st.sampled_from([*ways, *([None] if to in left else [])]))
                application.change(to, *([] if where is None else [f"a={where}"]))
                left[current] = at
                known = {"earliest": 0, "latest": len(there[to]), None: left.get(to)}
                at = known[where] if where in known else int(str(where))  # type: ignore[assignment]
                current = to
        assert application.ids() == sorted(first + n for first in entered for n in range(ROWS))
