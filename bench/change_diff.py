"""How long `dovetail diff` takes for a large application, after its imports.

`python -m bench.change_diff HOME FILE` prints the seconds."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa

LINES = """CREATE INPUT TABLE l{n} (eventtime TIMESTAMP, k BIGINT, id BIGINT, v DOUBLE) FROM SCRIBE("l{n}");
CREATE INPUT TABLE r{n} (eventtime TIMESTAMP, k BIGINT, id BIGINT, v DOUBLE) FROM SCRIBE("r{n}");
CREATE VIEW some{n} AS
SELECT * FROM r{n}
WHERE v > 0;
CREATE VIEW pairs{n} AS
SELECT
  l.eventtime AS eventtime,
  l.id AS l,
  r.id AS r,
  COALESCE(r.v, 0.0) AS v
FROM l{n} AS l
LEFT JOIN some{n} AS r
  ON l.k = r.k
  AND r.eventtime BETWEEN l.eventtime - INTERVAL '2 minutes' AND l.eventtime + INTERVAL '3 minutes'
  WITH (max_delay = INTERVAL '1 minute');
CREATE TABLE rows{n} AS
SELECT eventtime, l, r, v
FROM pairs{n}
STORAGE NOOP;
CREATE TABLE sums{n} AS
SELECT window(eventtime, '5 minutes').start AS start, COUNT(*) AS n, SUM(v) AS v
FROM pairs{n}
GROUP BY window(eventtime, '5 minutes')
STORAGE NOOP;
"""
"""A join with its tables."""
INPUT = pa.schema(
    [("eventtime", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("id", pa.int64()), ("v", pa.float64())]
)


def text_of(lines: int) -> str:
    """An application of at least as many lines."""
    joins = -(-lines // LINES.count("\n"))
    return "CREATE APPLICATION large;\n" + "".join(LINES.format(n=n) for n in range(joins))


def changed(text: str) -> str:
    """A window wider, and a column more, in one of its joins."""
    wider = text.replace("- INTERVAL '2 minutes'", "- INTERVAL '9 minutes'", 1)
    return wider.replace("SELECT eventtime, l, r, v\n", "SELECT eventtime, l, r, v, l + 1 AS more\n", 1)


def measure(work: Path, lines: int) -> tuple[int, float]:
    """The lines of the application, and seconds."""
    from dovetail.changes.takeover import consider, take_over
    from dovetail.log.category import Category
    from dovetail.log.homes.filesystem import open_store
    from dovetail.plan.statements import CreateInput
    from dovetail.pql.compile import plans_of, trace_program
    from dovetail.pql.parser import parse

    home, text = work / "home", text_of(lines)
    program = parse(text)
    for statement in program:
        if isinstance(statement, CreateInput):
            Category.create(str(home), statement.name, INPUT, buckets=1)
    take_over(consider(str(home), plans_of(trace_program(program)), program))
    open_store(str(home)).make_folder("apps/large/checkpoints/pairs0")  # as a run does
    (work / "new.pql").write_text(changed(text))
    said = subprocess.run(
        [sys.executable, "-m", "bench.change_diff", str(home), str(work / "new.pql")],
        cwd=Path(__file__).resolve().parent.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    return text.count("\n"), float(said.stdout)


def main(home: str, file: str) -> None:
    import dovetail.changes.takeover
    import dovetail.pql.compile
    import dovetail.spark.inputs  # noqa: F401  (what `proposal` imports when it is called)
    from dovetail.changes.words import change_lines, verdict_words
    from dovetail.service.proposal import proposal

    began_s = time.process_time()
    proposed = proposal(home, Path(file).read_text(), file, "large", {})
    said = [verdict_words(proposed.changes), *change_lines(proposed.changes)]
    took_s = time.process_time() - began_s
    assert len({change.rule for change in proposed.changes}) == 2, said
    print(took_s)


if __name__ == "__main__":
    main(*sys.argv[1:])
