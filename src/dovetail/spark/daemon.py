"""The Python daemon that Spark forks its workers from, with the heavy imports done once, before the fork.

Without it every worker process imports Arrow, Numba and the kernels by itself: seconds of a cold start.
"""

from __future__ import annotations

import dovetail.state.join_step
import dovetail.state.store  # noqa: F401


def main() -> None:
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
