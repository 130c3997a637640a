"""Tables of the faults and joins tried and survived: for a terminal, for programs and for the docs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.table import Table

from dovetail.service.torture.case import Case, Fault


class Line(NamedTuple):
    fault: Fault
    tried: int
    survived: int


def lines(cases: Sequence[Case]) -> list[Line]:
    """One for each kind and point. A fault counts as survived if the output of its case is right."""
    tried = Counter(fault for case in cases for fault in case.faults)
    survived = Counter(fault for case in cases if case.wrong is None for fault in case.faults)
    return [Line(fault, count, survived[fault]) for fault, count in sorted(tried.items())]


class JoinLine(NamedTuple):
    runs_on: str
    join: str
    tried: int
    survived: int
    kills: int


def join_lines(cases: Sequence[Case]) -> list[JoinLine]:
    """One for each kind of join. A join survives if its output is right."""
    tried = Counter((case.runs_on, case.join) for case in cases)
    survived = Counter((case.runs_on, case.join) for case in cases if case.wrong is None)
    kills: Counter[tuple[str, str]] = Counter()
    for case in cases:
        kills[case.runs_on, case.join] += case.kills
    return [JoinLine(*of, count, survived[of], kills[of]) for of, count in sorted(tried.items())]


def summary(cases: Sequence[Case]) -> str:
    kills = sum(case.kills for case in cases)
    spark = sum(fault.kills for case in cases for fault in case.faults if fault.runs_on == "Spark")
    failed = sum(case.wrong is not None for case in cases)
    return f"{len(cases):,} joins, {kills:,} kills, {spark:,} of them on Spark; " + (
        "all outputs equal to the oracle's" if not failed else f"{failed:,} joins failed"
    )


def to_table(cases: Sequence[Case]) -> Table:
    table = _table("on", "fault", "whom, where or what", numbers=("tried", "survived"))
    for line in lines(cases):
        cells = (line.fault.runs_on, line.fault.kind, line.fault.point, f"{line.tried}", f"{line.survived}")
        table.add_row(*cells, style=_style(line))
    return table


def to_join_table(cases: Sequence[Case]) -> Table:
    table = _table("on", "join", numbers=("tried", "survived", "kills"))
    for line in join_lines(cases):
        cells = (line.runs_on, line.join, f"{line.tried}", f"{line.survived}", f"{line.kills}")
        table.add_row(*cells, style=_style(line))
    return table


def _table(*names: str, numbers: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bright_black")
    for name in names:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _style(line: Line | JoinLine) -> str | None:
    return None if line.tried == line.survived else "bold red"


def to_json(cases: Sequence[Case]) -> dict[str, Any]:
    return {
        "joins": len(cases),
        "kills": sum(case.kills for case in cases),
        "failed": [
            {"seed": case.seed, "case": case.number, "what": case.wrong, "folder": str(case.folder)}
            for case in cases
            if case.wrong is not None
        ],
        "kinds": [line._asdict() for line in join_lines(cases)],
        "faults": [
            {**line.fault._asdict(), "tried": line.tried, "survived": line.survived} for line in lines(cases)
        ],
    }


def to_markdown(cases: Sequence[Case], command: str) -> str:
    """The reference page of a run."""
    modes = Counter(case.what for case in cases)
    text = [
        "# Faults survived",
        "",
        f"Written by `{command}`; do not edit by hand.",
        "[Torture](../how-to/torture.md) says what is done and compared.",
        "",
        f"{summary(cases)}.",
        "",
        "| on | join | tried | survived | kills |",
        "|---|---|---|---|---|",
        *(f"| {' | '.join(map(str, line))} |" for line in join_lines(cases)),
        "",
        "| on | fault | whom, where or what | tried | survived |",
        "|---|---|---|---|---|",
    ]
    text += [
        f"| {line.fault.runs_on} | {line.fault.kind} | {line.fault.point} | {line.tried} | {line.survived} |"
        for line in lines(cases)
    ]
    text += ["", "Joins: " + "; ".join(f"{mode} ({count})" for mode, count in sorted(modes.items())) + "."]
    return "\n".join(text) + "\n"
