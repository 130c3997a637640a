"""The operator graph in characters, flowing down."""

from __future__ import annotations

from itertools import pairwise

from dovetail.plan.drawing.graph import Node, PlanGraph
from dovetail.plan.drawing.layout import BoxLayout, lay_out

WIDEST = 52
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = dict(enumerate(" ││││┘┐┤─└┌├─┴┬┼"))
"""The character for each set of directions that a cell connects."""
_ROUND = {"category": "╭╮╰╯", "files": "╭╮╰╯", "sink": "╭╮╰╯"}


def draw_text(graph: PlanGraph) -> str:
    """Data has round corners, operators have square ones."""
    boxes = {name: _box(node) for name, node in graph.nodes.items()}
    layout = lay_out(list(graph.nodes), graph.edges, lambda name: float(len(boxes[name][0])), 3.0)
    canvas = _Canvas()
    top = 0
    for number, layer in enumerate(layout.layers):
        height = max((len(boxes[name]) for name in layer if name in boxes), default=1)
        for name in layer:
            x = round(layout.centre[name])
            if name in boxes:
                left = x - len(boxes[name][0]) // 2
                for y, line in enumerate(boxes[name]):
                    canvas.write(left, top + y, line)
                for y in range(len(boxes[name]), height):
                    canvas.line(x, top + y, _UP | _DOWN if _goes_on(name, layout) else 0)
            else:
                for y in range(height):
                    canvas.line(x, top + y, _UP | _DOWN)
        top += height
        if number + 1 < len(layout.layers):
            top += _connect(canvas, layout, number, top, set(boxes))
    return canvas.text()


def _goes_on(name: str, layout: BoxLayout) -> bool:
    return any(name in chain[:-1] for chain in layout.chains)


def _box(node: Node) -> list[str]:
    shown = [_cut(line) for line in (node.title, *node.lines)]
    width = max(len(line) for line in shown)
    a, b, c, d = tuple(_ROUND.get(node.kind, "┌┐└┘"))
    title = shown[0].center(width)
    rule = [f"├{'─' * (width + 2)}┤"] if node.lines else []
    body = [f"│ {line.ljust(width)} │" for line in shown[1:]]
    return [f"{a}{'─' * (width + 2)}{b}", f"│ {title} │", *rule, *body, f"{c}{'─' * (width + 2)}{d}"]


def _cut(line: str) -> str:
    line = " ".join(line.split("\n"))
    return line if len(line) <= WIDEST else line[: WIDEST - 1] + "…"


def _connect(canvas: _Canvas, layout: BoxLayout, number: int, top: int, boxes: set[str]) -> int:
    """Draws the lines between two layers, with a track per target, and returns their height."""
    pairs = [
        (a, b)
        for chain in layout.chains
        for a, b in pairwise(chain)
        if a in layout.layers[number] and b in layout.layers[number + 1]
    ]
    targets = [name for name in layout.layers[number + 1] if any(b == name for _, b in pairs)]
    tracks: list[list[tuple[int, int]]] = []
    track_of = {}
    for target in targets:
        xs = [round(layout.centre[name]) for name in (target, *(a for a, b in pairs if b == target))]
        low, high = min(xs), max(xs)
        free = (i for i, used in enumerate(tracks) if all(high < a or low > b for a, b in used))
        track_of[target] = next(free, len(tracks))
        if track_of[target] == len(tracks):
            tracks.append([])
        tracks[track_of[target]].append((low, high))
    height = len(tracks) + 2
    for start, stop in pairs:
        x0, x1 = round(layout.centre[start]), round(layout.centre[stop])
        turn = top + track_of[stop]
        canvas.path(x0, x1, top, turn, top + height)
        if stop in boxes:
            canvas.write(x1, top + height - 1, "▼")
    return height


class _Canvas:
    """Characters, and pieces of lines that connect to each other."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], str] = {}
        self.lines: dict[tuple[int, int], int] = {}

    def write(self, x: int, y: int, text: str) -> None:
        for i, character in enumerate(text):
            self.cells[x + i, y] = character

    def line(self, x: int, y: int, directions: int) -> None:
        if directions:
            self.lines[x, y] = self.lines.get((x, y), 0) | directions

    def path(self, x0: int, x1: int, top: int, turn: int, bottom: int) -> None:
        for y in range(top, turn):
            self.line(x0, y, _UP | _DOWN)
        if x0 == x1:
            self.line(x0, turn, _UP | _DOWN)
        else:
            step = 1 if x1 > x0 else -1
            self.line(x0, turn, _UP | (_RIGHT if step > 0 else _LEFT))
            for x in range(x0 + step, x1, step):
                self.line(x, turn, _LEFT | _RIGHT)
            self.line(x1, turn, _DOWN | (_LEFT if step > 0 else _RIGHT))
        for y in range(turn + 1, bottom):
            self.line(x1, y, _UP | _DOWN)

    def text(self) -> str:
        drawn = {place: _LINES[pieces] for place, pieces in self.lines.items()} | self.cells
        if not drawn:
            return ""
        left = min(x for x, _ in drawn)
        rows: dict[int, dict[int, str]] = {}
        for (x, y), character in drawn.items():
            rows.setdefault(y, {})[x - left] = character
        return "\n".join(
            "".join(rows.get(y, {}).get(x, " ") for x in range(max(rows.get(y, {0: " "})) + 1))
            for y in range(max(rows) + 1)
        )
