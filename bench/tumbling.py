"""A join within tumbling windows beside Spark's own over the same files, on window and key.

As `interval.py` in all else: each system in its own fresh process, warmed up first; both must give the counts
of the batch join over the same files, or the benchmark fails.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    root = str(Path(__file__).resolve().parent.parent)
    if root not in sys.path:  # `dovetail bench` loads this file by its path
        sys.path.insert(0, root)
    from bench.interval import parser, run

    return run(parser("tumbling", __doc__), argv, "tumbling")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
