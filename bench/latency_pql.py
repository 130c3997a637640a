"""The join of `bench latency` as an application in PQL, run as `dovetail run` does, with Parquet files out.

Spark's file sink names the files of a micro-batch in `_spark_metadata/<batch>`, and readers see them from
then on. So the time of that file is when its rows were out.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from bench.latency_parts import Shape
from bench.latency_systems import SEEN, Application, Batches
from bench.live_files import COLUMNS
from bench.live_traffic import BLOCK_S
from dovetail.service.cli.run import run_application

_QUERY = """\
CREATE APPLICATION {name};

CREATE INPUT TABLE left_rows ({left_columns}) FROM FILES("{left}", format = "{format}");

CREATE INPUT TABLE right_rows ({right_columns}) FROM FILES("{right}", format = "{format}");

{more_inputs}CREATE VIEW joined AS
SELECT l.key AS key, l.eventtime AS eventtime, l.left_file AS left_file, l.amount AS amount, l.label AS label,
  r.eventtime AS eventtime_right, r.right_file AS right_file, r.score AS score, r.tag AS tag
FROM left_rows AS l {join} right_rows AS r
  ON {on}
  WITH (max_delay = INTERVAL '{delay} seconds'{tasks}{history}){more_joins};

CREATE TABLE results AS
SELECT key, eventtime, left_file, amount, label, eventtime_right, right_file, score, tag
FROM joined
STORAGE PARQUET (path = "{out}");
"""


_NEAR = """({one}.eventtime BETWEEN
        l.eventtime - INTERVAL '{window} seconds' AND
        l.eventtime + INTERVAL '{window} seconds')"""

_THIRD_INPUT = """\
CREATE INPUT TABLE third_rows ({right_columns}) FROM FILES("{right}", format = "{format}");

"""

_THIRD_JOIN = """
  JOIN third_rows AS t
  ON (l.key = t.key) AND {near}
  WITH (max_delay = INTERVAL '{delay} seconds'{tasks}{history})"""


def query(application: Application) -> str:
    window, kept_s = f"{application.traffic.window_s:g}", application.history_s
    words = {
        "right_columns": COLUMNS["right"],
        "right": application.files / "right",
        "format": application.format,
        "delay": application.traffic.max_delay_s,
        "tasks": f", tasks = {application.tasks}" if application.tasks else "",
        "history": "" if kept_s is None else f", history = INTERVAL '{kept_s:g} seconds'",
    }
    chain = application.shape == "chain"  # the third stream has the rows of the right one
    return _QUERY.format(
        name=application.name,
        left_columns=COLUMNS["left"],
        left=application.files / "left",
        join="INNER JOIN" if application.how == "inner" else "LEFT OUTER JOIN",
        on=_condition(application.shape, _NEAR.format(one="r", window=window)),
        more_inputs=_THIRD_INPUT.format(**words) if chain else "",
        more_joins=_THIRD_JOIN.format(near=_NEAR.format(one="t", window=window), **words) if chain else "",
        out=application.work / "out",
        **words,
    )


def _condition(shape: Shape, near: str) -> str:
    """Each finds the same pairs: those of a block, by their key."""
    match shape:
        case "windowed":
            return f"(l.key = r.key) WITHIN TUMBLING '{BLOCK_S:g} seconds'"
        case "theta":
            return f"(r.key - l.key BETWEEN 0 AND 0) AND {near}"
        case _:
            return f"(l.key = r.key) AND {near}"


def start_pql(spark: SparkSession, application: Application, master: str, out: Batches) -> threading.Thread:
    application.work.mkdir(parents=True, exist_ok=True)
    text = application.work / f"{application.name}.pql"
    text.write_text(query(application))
    follow = threading.Thread(target=_follow, args=(application.work / "out", out), daemon=True)
    follow.start()
    run = threading.Thread(
        target=run_application,
        args=(text,),
        kwargs={
            "home": application.home_at,
            "master": master,
            "mode": "stream",
            "settings": {},
            "spark": spark,
        },
        daemon=True,
    )
    run.start()
    return run


def _follow(folder: Path, out: Batches) -> None:
    """Take each micro-batch when its list of files appears. The pause is between looks, and no part of the
    time: the list's own time counts."""
    batch, never, taken = 0, threading.Event(), set[str]()
    while True:
        found = _listed(folder, batch)
        if found is None:
            never.wait(0.05)
            continue
        at, files = found
        tables = [pq.read_table(file, columns=list(SEEN)) for file in files if file not in taken]
        taken.update(files)
        if tables:
            out.take(at, pa.concat_tables(tables))
        batch += 1


def _listed(folder: Path, batch: int) -> tuple[float, list[str]] | None:
    """The files of one micro-batch. Every tenth list repeats all earlier ones."""
    for path in (folder / "_spark_metadata" / f"{batch}{end}" for end in ("", ".compact")):
        try:
            version, *lines = path.read_text().splitlines()
            at = path.stat().st_mtime
        except OSError:
            continue
        assert version == "v1"
        listed = [unquote(urlparse(json.loads(line)["path"]).path) for line in lines]
        return at, listed
    return None
