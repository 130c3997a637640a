"""How deep an expression may be. sqlglot and the rules walk trees by recursion, and Python bounds that.

While a text is compiled the bound is raised; a tree deeper than `DEEPEST`, which no person writes, is refused
when it is parsed, so that no later walk can meet the bound.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

DEEPEST = 400
FRAMES = 6_000


@contextmanager
def deep_trees() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def too_deep(tree: exp.Expr) -> exp.Expr | None:
    """A node at the allowed depth that still has children, if there is one."""
    layer = [tree]
    for _ in range(DEEPEST):
        layer = [child for node in layer for child in node.iter_expressions()]
        if not layer:
            return None
    return layer[0]
