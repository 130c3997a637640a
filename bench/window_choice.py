"""How good the choices are: the paper's tree and the cost model beside the best of the eight, on every
workload and metric, from the runs of the workloads study.

A loss is how much worse the chosen algorithm's run was than the best one's: 0 % is the best choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

from rich.table import Table

from bench.window_runs import Run
from bench.window_studies import Study
from bench.window_workloads import Window
from dovetail.joins.window.choose import Wish, tree
from dovetail.joins.window.cost import Adaptive, Costs
from dovetail.joins.window.stream_facts import StreamFacts, side_facts

COST_OF: dict[str, Callable[[Run], float | None]] = {
    "throughput": lambda run: run.rows / run.rows_per_s,
    "latency": lambda run: run.p95_latency_ms,
    "progress": lambda run: run.half_ms,
}


@dataclass(frozen=True)
class Judged:
    workload: str
    wish: str
    threads: int
    best: str
    tree: str
    tree_loss: float
    model: str
    model_loss: float
    why: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def facts_of(window: Window, threads: int) -> StreamFacts:
    """Each side by its own times: a side at rest has come at once."""
    sides = []
    for keys, times in ((window.left, window.left_us), (window.right, window.right_us)):
        moving = times is not None and len(times) > 0 and int(times[-1]) > 0
        sides.append(side_facts(keys, window.window_ms if moving else None))
    return StreamFacts(sides[0], sides[1], threads)


def judge(study: Study, runs: Sequence[Run], costs: Costs) -> list[Judged]:
    found = []
    for point in study.points:
        own = [run for run in runs if run.point == point.label and run.threads == costs.threads]
        if not own:
            continue
        facts = facts_of(point.make(), costs.threads)
        for wish in get_args(Wish):
            took = {run.algorithm: COST_OF[wish](run) or 0.0 for run in own}
            best = min(took, key=lambda name: took[name])
            picked, chosen = tree(facts, wish), Adaptive(costs, wish).choose(facts)
            losses = [
                took[one.algorithm] / max(took[best], 1e-9) - 1 if one.algorithm in took else float("nan")
                for one in (picked, chosen)
            ]
            found.append(
                Judged(
                    point.label, wish, costs.threads, best,
                    picked.algorithm, losses[0], chosen.algorithm, losses[1], str(chosen),
                )
            )  # fmt: skip
    return found


def choice_table(found: Sequence[Judged]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in ("workload", "metric", "best", "tree", "loss", "cost model", "loss"):
        table.add_column(name, justify="right" if name == "loss" else "left")
    for one in found:
        table.add_row(
            one.workload,
            one.wish,
            one.best,
            one.tree,
            f"{one.tree_loss:.0%}",
            one.model,
            f"{one.model_loss:.0%}",
        )
    return table
