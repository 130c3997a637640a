"""Windows that differ are said so that the difference shows."""

import pytest

from dovetail.changes.compare import compare
from dovetail.changes.window_words import windows_words
from dovetail.model.time_window import TimeWindow
from dovetail.pql.compile import compile_pql

S = 1_000_000
SESSIONS = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE a (t TIMESTAMP, k BIGINT, j BIGINT) FROM SCRIBE("a");
    CREATE TABLE n AS SELECT session_window(t, '5 minutes').start AS start, k, COUNT(*) AS n FROM a
        GROUP BY session_window(t, '5 minutes'), k STORAGE NOOP;
"""


def test_what_differs_shows() -> None:
    ten, start = TimeWindow("hopping", 10 * S, 5 * S), TimeWindow("hopping", 10 * S, 5 * S, 2 * S)
    assert windows_words(ten, TimeWindow("hopping", 10 * S, 2 * S)) == (
        "hopping of 10 seconds every 5 seconds, now hopping of 10 seconds every 2 seconds"
    )
    assert windows_words(ten, start) == (
        "hopping of 10 seconds every 5 seconds from 0 seconds, "
        "now hopping of 10 seconds every 5 seconds from 2 seconds"
    )
    assert windows_words(TimeWindow("session", S, S), TimeWindow("tumbling", S, S)) == (
        "session of 1 second, now tumbling of 1 second"
    )


@pytest.mark.parametrize(
    ("grouped", "by"),
    [("j", "by j"), ("k, j", "by k, j"), ("", "of all rows")],
    ids=["another key", "one more key", "no key"],
)
def test_sessions_of_other_keys_are_refused(grouped: str, by: str) -> None:
    """Rows that are held have the old keys, under the names that the new ones would have."""
    listed = f"{grouped}, COUNT" if grouped else "COUNT"
    text = SESSIONS.replace("k, COUNT", listed).replace("'), k", f"'), {grouped}".removesuffix(", "))
    (change,) = [one for one in compare(compile_pql(SESSIONS), compile_pql(text)) if one.verdict == "refused"]
    assert change.what == f"sessions are by k, now {by}"
    assert change.instead
