"""The program of a case that joins DataFrames, as a user with a Spark job would write it.

    python -m dovetail.service.torture.dataframes FOLDER [--drain]

It reads `l/` and `r/` of the folder as streams, joins them by `dovetail.join` and writes `out/`. On SIGTERM
it stops with status 0. When a query fails, it says why and ends with status 1.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import dovetail
from dovetail.service.torture.modes import Mode
from dovetail.service.torture.workload import AFTER, BEFORE, EVERY, GAP, LENGTH, LONGEST, MAX_DELAY

NAME = "torture"
MODE_FILE = "mode.json"
_LOOK_S = 0.1


def commits_folder(folder: Path) -> Path:
    """Where Spark names the micro-batches of the output that are done."""
    return folder / "out.checkpoint" / "commits"


def write_mode(folder: Path, mode: Mode) -> None:
    (folder / MODE_FILE).write_text(json.dumps(mode._asdict()))


def main(folder: Path, drain: bool) -> int:
    from dovetail.spark.session import open_session

    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    mode = Mode(**json.loads((folder / MODE_FILE).read_text()))
    spark = open_session(NAME, "local[2,4]", "1g", {})  # as on a cluster, a task is tried four times
    try:
        joined = _joined(spark, folder, mode, drain)
        writer = joined.writeStream.format("parquet").option("path", f"{folder}/out")
        writer = writer.option("checkpointLocation", str(commits_folder(folder).parent))
        if drain:
            writer.trigger(availableNow=True).start().awaitTermination()
            return 0
        queries = [*spark.streams.active, writer.trigger(processingTime="100 milliseconds").start()]
        while not stopping.wait(_LOOK_S):
            for query in queries:
                if not query.isActive:
                    query.awaitTermination()  # raises what the query failed of
                    return 1
        for query in queries:
            query.stop()
        return 0
    except Exception as error:
        print(str(error).partition("\n")[0], file=sys.stderr)
        return 1
    finally:
        spark.stop()


def _joined(spark: Any, folder: Path, mode: Mode, drain: bool) -> Any:
    schema = "eventtime timestamp, k string, id long"
    left, right = (spark.readStream.schema(schema).parquet(f"{folder}/{name}") for name in "lr")
    joined = dovetail.join(
        left,
        right,
        "k",
        left_time="eventtime",
        right_time="eventtime",
        how=mode.how,
        name=NAME,
        home=os.environ["DOVETAIL_HOME"],
        mode="drain" if drain else "stream",
        tasks=2,
        max_step_rows=60,
        max_delay=f"{MAX_DELAY} seconds",
        **_window(mode),
    )
    columns = ["id AS l", *(["id_right AS r"] if mode.emits_pairs else [])]
    bounds = ["window_start AS s", "window_end AS e"] if mode.windowed else []
    return joined.selectExpr(*columns, *bounds)


def _window(mode: Mode) -> dict[str, Any]:
    emit = {"emit": "eager" if mode.eager else "lazy"}
    match mode.kind:
        case "tumbling":
            return {"within": dovetail.Tumbling(f"{LENGTH} seconds"), **emit}
        case "hopping":
            return {"within": dovetail.Hopping(f"{LENGTH} seconds", every=f"{EVERY} seconds"), **emit}
        case "session":
            return {"within": dovetail.Session(f"{GAP} seconds"), "max_session": f"{LONGEST} seconds"}
    one = {"match": "one", "pick": mode.pick} if mode.pick else {}
    return {"before": f"{BEFORE} seconds", "after": f"{AFTER} seconds", **one}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--drain" in sys.argv[2:]))
