"""The paper's query, and a way to put a join into a whole program."""

from __future__ import annotations

from collections.abc import Callable

import pytest

FIGURE_3 = """\
CREATE APPLICATION sample_app;

CREATE INPUT TABLE left (
 eventtime, key, dim_one, metric
) FROM SCRIBE("left");

CREATE INPUT TABLE right (
 eventtime, key, dim_two, dim_three
) FROM SCRIBE("right");

CREATE VIEW joined_streams AS
SELECT
  l.eventtime AS eventtime, l.key AS key,
  l.dim_one AS dim_one, r.dim_two AS dim_two{comma}
  COALESCE(r.dim_three, "example") AS dim_three,
  ABS(l.metric) AS metric
FROM left AS l LEFT OUTER JOIN right AS r
ON (l.key = r.key) AND
   (r.eventtime BETWEEN
     l.eventtime - INTERVAL '3 minutes' AND
     l.eventtime + INTERVAL '3 minutes');

CREATE TABLE result AS
SELECT
  eventtime, key, dim_one, dim_two,
  dim_three, metric
FROM joined_streams
STORAGE SCRIBE (category = "result");
"""


@pytest.fixture
def figure_3() -> str:
    """As it was meant."""
    return FIGURE_3.format(comma=",")


@pytest.fixture
def figure_3_as_printed() -> str:
    """As it was printed: a comma is missing."""
    return FIGURE_3.format(comma="")


@pytest.fixture
def program() -> Callable[..., str]:
    """A program around one view and one table, both optional."""

    def make(view: str = "", table: str = "CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;") -> str:
        return f"""CREATE APPLICATION app;
CREATE INPUT TABLE a (t TIMESTAMP, k STRING, x INT, s STRUCT<u: INT>) FROM SCRIBE("a");
CREATE INPUT TABLE b (t TIMESTAMP, k STRING, y INT) FROM FILES("/b", format = "csv", header = "true");
{view}
{table}
"""

    return make
