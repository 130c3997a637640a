"""A join within tumbling windows beside Spark's own over the same files, on window and key.

In everything else like `interval.py`: each system in its own fresh process, warmed up first; both must give
the counts of the batch join over the same files, or the benchmark fails.
"""

from __future__ import annotations

from bench.interval import command, run


def main(argv: list[str]) -> int:
    return run(command("tumbling", __doc__), argv, "tumbling")
