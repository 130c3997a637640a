"""The Python daemon that Spark forks its workers from, with the heavy imports done once, before the fork.

Without it every worker process imports Arrow and Numba and loads the kernels by itself: seconds of a cold
start.
"""

from __future__ import annotations

import dovetail.state.join_step  # noqa: F401
from dovetail.kernels.warm import warm


def main() -> None:
    from pyspark.daemon import manager

    warm()
    manager()


if __name__ == "__main__":
    main()
