"""The Python daemon that Spark forks its workers from, with the heavy imports done once, before the fork.

Without it every worker process imports Arrow and Numba and loads the kernels by itself: seconds of a cold
start. On one machine the daemon is itself forked from a process that has done so (`nursery.py`).
"""

from __future__ import annotations

import gc

from dovetail.engine.shipped_code import leave_zip


def main() -> None:
    leave_zip()
    _import()
    from pyspark.daemon import manager

    from dovetail.engine.warm import warm

    warm()
    gc.collect()
    gc.freeze()  # what is loaded now stays: collections in the workers need not walk through it
    manager()


def _import() -> None:
    import pandas  # noqa: F401  (PySpark's Arrow path imports it in every worker)
    import pyarrow.parquet  # noqa: F401
    import pyspark.worker  # noqa: F401


if __name__ == "__main__":
    main()
