"""The choice of an algorithm that learns, beside the tree of the paper and the best of the eight."""

from __future__ import annotations

from statistics import median

from bench.paper.exhibit import Effort, Made
from bench.tables import Table


def choice(effort: Effort) -> Made:
    """What the paper asks for in section 7."""
    from bench.window_adaptive import NEAR, settled
    from bench.window_workloads import WORKLOADS

    scale = 0.002 if effort.quick else effort.scale
    shares = {"stock": 1.0, "rovio": scale / 5}
    names = ("debs",) if effort.quick else tuple(WORKLOADS)
    windows = [WORKLOADS[name](shares.get(name, scale), effort.data, effort.seed) for name in names]
    found = settled(windows, effort.threads, 1 if effort.quick else 7, lambda line: None)
    rows = [
        (
            f"{one.workload}, {one.wish}",
            f"{one.best}, {one.best_ms:,.1f} ms",
            f"{one.spread:.0%}",
            f"{one.tree}, {one.tree_loss:.0%}",
            f"{one.tree_behind:.0%}",
            f"{one.settled}, {one.settled_loss:.0%}",
            f"{one.settled_behind:.0%}",
            f"{one.run_loss:.0%}",
        )
        for one in found
    ]
    heads = (
        "workload, metric",
        "best of the eight",
        "spread",
        "tree, loss",
        "rounds behind",
        "learnt, loss",
        "rounds behind",
        "its own windows",
    )
    losses = {"tree": [one.tree_loss for one in found], "learnt": [one.settled_loss for one in found]}
    whole = [
        (name, f"{sum(loss <= NEAR for loss in own)} of {len(own)}", f"{sum(own) / len(own):.0%}")
        for name, own in losses.items()
    ]
    tables = {
        "": Table(heads, rows),
        "in all": Table(("", "within a tenth of the best", "loss on average"), whole),
    }
    return Made(tables, values=losses, right=all(one.right for one in found))


def change(effort: Effort) -> Made:
    """A stream that changes halfway, at rest, every match looked at."""
    from bench.window_adaptive import changing

    scale, rounds, each = (0.002, 1, 2) if effort.quick else (effort.scale, 7, 12)
    found = changing(scale, effort.threads, rounds, each, effort.seed, lambda line: None)
    ordered = sorted(found.seconds.items(), key=lambda item: median(item[1]))
    rows = [
        ("learnt" if name == "adaptive" else name, *(f"{of(took):.2f}" for of in (median, min, max)))
        for name, took in ordered
    ]
    facts = [
        ("learnt: before the change", found.chosen[0]),
        ("learnt: at the end", found.chosen[1]),
        ("calibration, once, not included", f"{found.calibrating_s:.1f} s"),
    ]
    tables = {
        "seconds of the whole run": Table(("", "median", "from", "to"), rows),
        "what was chosen": Table(("", "here"), facts),
    }
    return Made(tables, values=found.seconds, right=found.same)
