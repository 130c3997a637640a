"""Tables of `dovetail bench sliding`."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

_TITLES = {
    "scan": "Band scan in two dimensions, billions of comparisons a second on one core, beside C",
    "designs": "Rows per second taken and held, the same scan in all designs",
    "visiting": "Median microseconds at a steady 2,000 rows/s over two windows; walk: handshake's formula",
    "order": "What order costs (SplitJoin)",
    "selectivity": "What matches cost (SplitJoin)",
    "windows": "Windows by count and by time (SplitJoin)",
    "index": "The band index, one core",
    "latency": "Rows one at a time, one core, a window of 2^14: median microseconds",
    "simulated": "SplitJoin measured and simulated, rows per second",
}


def show(name: str, found: Any) -> None:
    console = Console(width=150)
    if name == "equal":
        said = ", ".join(f"{design}: {pairs:,}" for design, pairs in found["made"].items())
        console.print(f"pairs of one stream: {said}: {'the same' if found['same'] else 'NOT THE SAME'}")
        return
    table = Table(title=_TITLES[name], title_justify="left", box=None)
    rows = [_row(name, one) for one in found]
    for column in rows[0]:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row.values())
    console.print(table)


def _row(name: str, one: dict[str, Any]) -> dict[str, str]:
    if name == "scan":
        return {
            "window": f"2^{one['window'].bit_length() - 1}",
            **{
                key: f"{one[key] / 1e9:.1f}"
                for key in ("ours_one", "c_one", "ours_four", "c_four")
                if key in one
            },
            **{key: f"{one[key]:.2f}" for key in ("ratio_one", "ratio_four") if key in one},
        }
    if name in ("latency", "visiting"):
        return {key: value if isinstance(value, str) else f"{value:,.0f}" for key, value in one.items()}
    if name == "simulated":
        return {
            "window": f"{one['window']:,}",
            "cores": str(one["cores"]),
            "measured": f"{one['measured']:,.0f}",
            "simulated": f"{one['simulated']:,.0f}",
            "ratio": f"{one['ratio']:.2f}",
        }
    shown = {
        "design": one["design"],
        "cores": str(one["cores"]),
        "window": f"{one['window']:,}" + (" by time" if one["by_time"] else ""),
        "taken": f"{one['taken_rows_per_s']:,.0f}",
        "held": f"{one['held_rows_per_s']:,.0f}",
        "comparisons/s": f"{one['comparisons_per_s'] / 1e9:.2f} G",
    }
    if name == "designs":
        shown["taken, one row a pass"] = f"{one['taken_alone_rows_per_s']:,.0f}"
    if name == "order":
        shown["order"] = {"none": "none", "outer": f"outer, every {one['every']}"}.get(
            one["order"], f"inner, groups of {one['group']}"
        )
    if name == "selectivity":
        shown["values"] = f"{one['domain']:,}"
    if name == "index":
        shown["times the paper's 28 cores"] = (
            f"{one['times_the_papers']:.0f}" if "times_the_papers" in one else ""
        )
    for stage, value in one["latency_us"].items():
        shown[stage] = f"{value:,.0f}"
    return shown
