"""Figure 11 in the paper's form: memory and backlog over time, around the restart."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from bench.accuracy_plots import save
from bench.recovery_figure import Figure11


def draw(found: Figure11, folder: Path) -> None:
    line = found.line
    figure, (memory, backlog) = plt.subplots(2, 1, figsize=(7, 4.5), sharex=True)
    memory.plot(line["s"], [size / 2**30 for size in line["index_bytes"]], label="index")
    memory.plot(line["s"], [size / 2**30 for size in line["rss_bytes"]], label="resident, all processes")
    backlog.plot(line["s"], [rows / 1000 for rows in line["backlog_rows"]], color="tab:red")
    memory.set(ylabel="memory, GiB", ylim=(0, None))
    backlog.set(xlabel="seconds since the join was killed", ylabel="backlog, thousand rows", ylim=(0, None))
    for axis in (memory, backlog):
        axis.axvline(0, linestyle="--", color="black", linewidth=1)
        if found.down_s is not None:
            axis.axvspan(0, found.down_s, alpha=0.15, color="gray", label="down: start and replay")
    memory.legend(fontsize=8)
    save(figure, folder / "facebook-2018-figure-11.svg")
