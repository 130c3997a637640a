"""Where the boxes of a graph go: layers along the flow, and an order across it with few crossings.

A node is one layer after its furthest parent; inputs are as close to their readers as possible. An edge over
several layers has a bend in each. Sweeps move each node towards the mean of its neighbours and push boxes
apart. The caller chooses the unit: characters or pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

Edges = list[tuple[str, str]]
SWEEPS = 40


@dataclass(frozen=True)
class BoxLayout:
    """`layers` in flow order; `centre` of each node across the flow; `chains`: edges and bends."""

    layers: tuple[tuple[str, ...], ...]
    centre: Mapping[str, float]
    chains: tuple[tuple[str, ...], ...]
    extent: float


def lay_out(nodes: list[str], edges: Edges, size: Callable[[str], float], gap: float) -> BoxLayout:
    """`size` is that of a node across the flow. Bends (names that are not nodes) have none."""
    level = _levels(nodes, edges)
    chains = [_chain(start, stop, level) for start, stop in edges]
    layers: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for node in nodes:
        layers[level[node]].append(node)
    for chain in chains:
        for step, bend in enumerate(chain[1:-1], start=1):
            layers[level[chain[0]] + step].append(bend)
    links = [pair for chain in chains for pair in pairwise(chain)]
    _sort_layers(layers, links)
    known = set(nodes)

    def width(name: str) -> float:
        return size(name) if name in known else 1.0

    centre = _centres(layers, links, width, gap)
    extent = max((centre[n] + width(n) / 2 for n in centre), default=0.0)
    return BoxLayout(tuple(map(tuple, layers)), centre, tuple(map(tuple, chains)), extent)


def _levels(nodes: list[str], edges: Edges) -> dict[str, int]:
    level = dict.fromkeys(nodes, 0)
    for _ in nodes:  # a cycle through a category ends after as many rounds as there are nodes
        moved = False
        for start, stop in edges:
            if level[stop] <= level[start] < len(nodes):
                level[stop] = level[start] + 1
                moved = True
        if not moved:
            break
    fed = {stop for _, stop in edges}
    for node in nodes:
        below = [level[stop] for start, stop in edges if start == node]
        if node not in fed and below:
            level[node] = max(0, min(below) - 1)
    used = sorted(set(level.values()))
    return {node: used.index(value) for node, value in level.items()}


def _chain(start: str, stop: str, level: dict[str, int]) -> list[str]:
    bends = [f"{start} -> {stop} @{i}" for i in range(level[start] + 1, level[stop])]
    return [start, *bends, stop]


def _sort_layers(layers: list[list[str]], links: Edges) -> None:
    for sweep in range(4):
        down = sweep % 2 == 0
        order = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
        for i in order:
            near = layers[i - 1 if down else i + 1]
            place = {name: at for at, name in enumerate(near)}
            wanted = {}
            for at, name in enumerate(layers[i]):
                ends = [a if down else b for a, b in links if (b if down else a) == name]
                found = [place[end] for end in ends if end in place]
                wanted[name] = sum(found) / len(found) if found else float(at)
            layers[i].sort(key=lambda name, wanted=wanted: wanted[name])  # type: ignore[misc]


def _centres(
    layers: list[list[str]], links: Edges, width: Callable[[str], float], gap: float
) -> dict[str, float]:
    centre: dict[str, float] = {}
    for layer in layers:
        edge = 0.0
        for name in layer:
            centre[name] = edge + width(name) / 2
            edge += width(name) + gap
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            for name in layer:
                near = [centre[a] for a, b in links if b == name] + [centre[b] for a, b in links if a == name]
                if near:
                    centre[name] = sum(near) / len(near)
            _push_apart(layer, centre, width, gap)
    shift = min((centre[n] - width(n) / 2 for n in centre), default=0.0)
    return {name: value - shift for name, value in centre.items()}


def _push_apart(
    layer: list[str], centre: dict[str, float], width: Callable[[str], float], gap: float
) -> None:
    """Neighbours that overlap move apart by equal amounts, until none overlap."""
    for _ in range(8 * len(layer)):
        moved = False
        for left, right in pairwise(layer):
            need = (width(left) + width(right)) / 2 + gap - (centre[right] - centre[left])
            if need > 0.01:
                centre[left] -= need / 2
                centre[right] += need / 2
                moved = True
        if not moved:
            return
    edge = centre[layer[0]] - width(layer[0]) / 2 if layer else 0.0
    for name in layer:
        centre[name] = max(centre[name], edge + width(name) / 2)
        edge = centre[name] + width(name) / 2 + gap
