"""The papers' analytic formulas, as printed: pure functions, all times in nanoseconds.

Papers: SplitJoin (USENIX ATC 2016), section 6, equations 1 to 6; handshake join, the earlier version of the
SIGMOD 2011 paper, appendix A.5. Vocabulary: k = cores, w = sub-window rows, T_CL = hop, T_ML = monitor,
T_P = compare, T_Col = collect, b = fan-out, c = fan-in.

Assumptions they share: all cores work in parallel, communication and cores are homogeneous, and nobody waits
in a queue. Equations 3 to 6 have log_b k as a real number; a tree has whole levels, so simulations use the
ceiling, and so can callers (`levels`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def low_latency_processing_ns(
    k: int, w: float, hop: float, monitor: float, compare: float, collect: float
) -> float:
    """Equation 1."""
    return hop + (k - 1) * (hop + monitor) + w * compare + collect


def low_latency_visiting_ns(k: int, w: float, hop: float, monitor: float, compare: float) -> float:
    """Equation 2: on average two rows meet in the middle of the chain."""
    return hop + (k - 1) // 2 * (hop + monitor) + w / 2 * compare


def split_processing_paths_ns(
    paths: Sequence[Sequence[float]], w: float, compare: float, collect: float
) -> float:
    """Equation 3: the slowest path, `paths[i]` being the costs of the hops to core i."""
    return max(sum(path) + w * compare for path in paths) + collect


def split_processing_path_ns(
    hops: Sequence[float], k: int, b: float, w: float, compare: float, collect: float
) -> float:
    """Equation 4: hops of a path cost the same, `hops[i]` being that of the path to core i."""
    return max(hop * math.log(k, b) for hop in hops) + w * compare + collect


def split_processing_ns(k: int, b: float, c: float, w: float, hop: float, compare: float) -> float:
    """Equation 5: homogeneous, and results come through a tree of branching factor c."""
    return hop * math.log(k, b) + w * compare + hop * math.log(k, c)


def split_visiting_ns(k: int, b: float, w: float, hop: float, compare: float) -> float:
    """Equation 6."""
    return hop * math.log(k, b) + w / 2 * compare


def lock_step_rows_per_s(cores: int, window_left: int, window_right: int, clock_hz: float) -> float:
    """Appendix A.5: rows per second and stream of the lock-step circuit; a clock cycle is one comparison."""
    return clock_hz / max(math.ceil(window_left / cores), math.ceil(window_right / cores))


def handshake_visiting_s(window_s: float, cores: int) -> float:
    """How long two rows walk towards each other. Derived, not printed (sections 3.2 and 3.5).

    Rows d segments apart meet when one enters the core where the other is. With n the whole part of d and f
    the rest, that is after n / 2 segments if n is even and after (n - 1) / 2 + f if it is odd; d is uniform
    from 0 to k, so (k - 1) / 4 segments on average. The SplitJoin paper has it as O(n), n rows of the window.
    """
    return window_s * (cores - 1) / (4 * cores)


def levels(k: int, branching: int) -> int:
    """Levels of a tree with `branching` that reaches k leaves; 0 for one."""
    depth, reached = 0, 1
    while reached < k:
        depth, reached = depth + 1, reached * branching
    return depth
