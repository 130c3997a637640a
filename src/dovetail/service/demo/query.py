"""The demo's application: a query that a reader can take, change and run."""

from __future__ import annotations

from pathlib import Path

from dovetail.service.demo import APPLICATION
from dovetail.service.demo.streams import MINUTE_US

BEFORE_US, AFTER_US = 15 * MINUTE_US, 2 * MINUTE_US

_QUERY = """\
-- How good are our search answers? Clients log what people do with an answer, servers log how it was made;
-- both carry the search's id. After section 7.1 of the streaming-join paper.
CREATE APPLICATION search_quality;

CREATE INPUT TABLE client_events (
  eventtime TIMESTAMP, search_id STRING, user_id BIGINT, platform STRING, action STRING, clicked_position INT
) FROM SCRIBE("client_events");

CREATE INPUT TABLE server_events (
  eventtime TIMESTAMP, search_id STRING, query STRING, country STRING, ranking_version STRING,
  results INT, latency_ms DOUBLE
) FROM SCRIBE("server_events");

-- Clients upload when they can, so the left stream may lag far behind; servers log at once.
CREATE VIEW searches AS
SELECT
  c.eventtime AS eventtime,
  c.search_id AS search_id,
  c.platform AS platform,
  c.action AS action,
  c.clicked_position AS clicked_position,
  s.query AS query,
  s.country AS country,
  s.ranking_version AS ranking_version,
  s.latency_ms AS latency_ms
FROM client_events AS c LEFT OUTER JOIN server_events AS s
  ON (c.search_id = s.search_id) AND
     (s.eventtime BETWEEN c.eventtime - INTERVAL '15 minutes' AND c.eventtime + INTERVAL '2 minutes')
  WITH (left_max_delay = INTERVAL '5 minutes', right_max_delay = INTERVAL '1 minute');

-- Every client row, with the server's columns where there are any.
CREATE TABLE joined_searches AS
SELECT eventtime, search_id, platform, action, clicked_position, query, country, ranking_version, latency_ms
FROM searches
STORAGE PARQUET (path = "{joined}");

-- Does the new ranking push good answers down the page?
CREATE TABLE ranking_quality AS
SELECT window(eventtime, '10 minutes').start AS since, ranking_version,
       COUNT(*) AS events, COUNT(clicked_position) AS clicks, AVG(clicked_position) AS mean_clicked_position
FROM searches
GROUP BY window(eventtime, '10 minutes'), ranking_version
STORAGE PARQUET (path = "{quality}");
"""


def results(folder: Path) -> tuple[Path, Path]:
    """Where the two tables are written."""
    return folder / "results" / "joined_searches", folder / "results" / "ranking_quality"


def write_query(folder: Path) -> Path:
    joined, quality = results(folder)
    path = folder / f"{APPLICATION}.pql"
    path.write_text(_QUERY.format(joined=joined, quality=quality))
    return path
