"""The query that most tests on Spark run: pairs of `l` and `r` with equal keys, a few minutes apart."""

from __future__ import annotations

from spark.batch import ON

OUT = 'PARQUET(path = "{here}/out")'


def pairs(
    how: str,
    options: str = "",
    *,
    columns: str = "eventtime, k, id",
    select: str = "l.id AS l, r.id AS r",
    on: str = ON,
    folder: str = "{here}",
    left_files: int | None = None,
    right_files: int | None = None,
    storage: str = OUT,
) -> str:
    """An application `app` with a view `pairs`. `left_files`, `right_files`: at most, per trigger."""
    inputs = "".join(
        f'CREATE INPUT TABLE {name} ({columns}) FROM FILES("{folder}/{name}", format = "parquet"'
        + (f', maxFilesPerTrigger = "{files}");\n' if files else ");\n")
        for name, files in (("l", left_files), ("r", right_files))
    )
    return (
        f"CREATE APPLICATION app;\n{inputs}"
        f"CREATE VIEW pairs AS SELECT {select} FROM l {how} JOIN r ON {on}"
        + (f" WITH ({options});\n" if options else ";\n")
        + f"CREATE TABLE t AS SELECT * FROM pairs STORAGE {storage};\n"
    )
