"""Plots of exhibits that have no drawing of their own: lines over an axis, or bars."""

from __future__ import annotations

from collections.abc import Mapping

from bench.paper.exhibit import Effort

Lines = Mapping[str, Mapping[str, float]]
"""By the name of a line, its values by the label of their place on the axis."""


def lines(
    effort: Effort, name: str, axis: str, panels: Mapping[str, Lines], log: bool = False, ticks: int = 0
) -> list[str]:
    """`panels`: by the label of the y axis. `ticks`: places are numbers, and about this number get a name."""
    return _drawn(effort, name, axis, panels, bars=False, log=log, ticks=ticks)


def bars(effort: Effort, name: str, panels: Mapping[str, Lines], log: bool = False) -> list[str]:
    """A group of bars for each place, one bar a line."""
    return _drawn(effort, name, "", panels, bars=True, log=log)


def _drawn(
    effort: Effort, name: str, axis: str, panels: Mapping[str, Lines], bars: bool, log: bool, ticks: int = 0
) -> list[str]:
    """The name of the file that was written; none where pictures were not asked for."""
    if effort.out is None:
        return []
    import matplotlib.pyplot as plt

    from bench.accuracy_plots import save

    figure, axes = plt.subplots(1, len(panels), figsize=(5.0 * len(panels), 3.2), squeeze=False)
    for own, (label, shown) in zip(axes[0], panels.items(), strict=True):
        places = list(dict.fromkeys(place for cells in shown.values() for place in cells))
        width = 0.8 / max(1, len(shown))
        for number, (line, cells) in enumerate(shown.items()):
            if bars:
                at = [places.index(place) + (number - (len(shown) - 1) / 2) * width for place in cells]
                own.bar(at, list(cells.values()), width, label=line)
            elif ticks:
                own.plot([float(place) for place in cells], list(cells.values()), label=line)
            else:
                own.plot([places.index(place) for place in cells], list(cells.values()), "o-", label=line)
        if ticks:
            own.locator_params(axis="x", nbins=ticks)
        else:
            own.set_xticks(range(len(places)), places, fontsize=7)
        own.set(xlabel=axis, ylabel=label)
        if bars:
            own.tick_params(axis="x", rotation=20)
        if log:
            own.set_yscale("log")
        else:
            own.set_ylim(0, None)
    if any(line for shown in panels.values() for line in shown):
        axes[0][0].legend(fontsize=6)
    file = f"{name}.svg"
    save(figure, effort.out / file)
    return [file]
