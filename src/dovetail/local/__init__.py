"""Runs a whole application in this process, without Spark or Java: for tests and notebooks.

    import dovetail.local

    tables = dovetail.local.run("clicks.pql", home="/data/dovetail")
    tables["clicked"].to_pandas()

The planner, the coordinator and the steps are those that run on Spark, over a log in a temporary home. At the
end every window is closed. The inputs are only read: the categories of `home` commit by commit, Parquet files
one by one.

Aggregates need Spark, and so do expressions that Arrow does not compute exactly as Spark does
(`plan/evaluate.py`). Functions that the query defines run. Where only what follows a join needs Spark,
`raw=True` gives the rows of the join itself.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from dovetail.engine.planner import HostClock


def run(
    app: str | Path,
    home: str | Path | None = None,
    *,
    raw: bool = False,
    tasks: int = 1,
    clock: HostClock | None = None,
) -> dict[str, pa.Table]:
    """Join everything that the inputs have, and return the resulting tables by name. A join that feeds one
    table has the name of its view; any other table has its own name.

    `app`: PQL text, or the path of a PQL file. `home`: where its categories are, the current directory if not
    given. `raw`: return the rows of each join, with the columns that it takes from both sides, before the
    query computes anything from them. `tasks`: how many tasks each join has; they run one after another.
    """
    from dovetail.engine.copying import settle
    from dovetail.engine.planner import HOST_CLOCK
    from dovetail.local.graph import Graph
    from dovetail.pql.compile import compile_pql

    text, name = _text(app)
    plan = compile_pql(text, name=name)
    with tempfile.TemporaryDirectory(prefix="dovetail-local-") as work:
        try:
            graph = Graph(plan, str(home or "."), work, tasks=tasks, raw=raw, clock=clock or HOST_CLOCK)
            graph.drain()
            return graph.tables()
        finally:
            settle()  # a thread may still copy snapshots into the temporary home, which is about to go


def _text(app: str | Path) -> tuple[str, str]:
    """PQL text, and what errors call it. A string without a semicolon has no statement, so it is a path."""
    from dovetail.pql.modules import with_modules

    if isinstance(app, Path) or ";" not in app:
        try:
            return with_modules(Path(app).read_text(encoding="utf-8-sig"), Path(app).parent), str(app)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"the query cannot be read: {error}",
                where=str(app),
                expected="a file with PQL, or PQL text with its semicolons",
            ) from error
    return with_modules(app, Path()), "<string>"
