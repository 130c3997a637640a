"""The operator graph as an SVG, flowing to the right; data is blue, as in the paper's Figure 4."""

from __future__ import annotations

from html import escape

from dovetail.plan.drawing.graph import Node, PlanGraph
from dovetail.plan.drawing.layout import lay_out

WIDEST = 56
CHARACTER, LINE, PAD, MARGIN = 7.2, 16.0, 12.0, 28.0
GAP_ACROSS, GAP_ALONG = 26.0, 52.0
_FILL = {
    "category": ("#dbe9fb", "#2f6fb6"),
    "files": ("#dbe9fb", "#2f6fb6"),
    "sink": ("#e8edf2", "#6b7a8c"),
    "slicer": ("#ffffff", "#3d4852"),
    "join": ("#fdf0d5", "#b9770e"),
    "aggregate": ("#e6f4e6", "#3f7d3f"),
}


def draw_svg(graph: PlanGraph) -> str:
    widths = {name: _width(node) for name, node in graph.nodes.items()}
    heights = {name: _height(node) for name, node in graph.nodes.items()}
    layout = lay_out(list(graph.nodes), graph.edges, lambda name: heights[name], GAP_ACROSS)
    left: list[float] = []
    right: list[float] = []
    x = MARGIN
    for layer in layout.layers:
        left.append(x)
        x += max((widths[name] for name in layer if name in widths), default=0.0)
        right.append(x)
        x += GAP_ALONG
    level = {name: i for i, layer in enumerate(layout.layers) for name in layer}
    top = MARGIN + 34
    width, height = x - GAP_ALONG + MARGIN, layout.extent + top + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#3d4852"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="{MARGIN}" y="{MARGIN + 6}" font-size="16" font-weight="bold">{escape(graph.title)}</text>',
    ]
    for chain in layout.chains:
        points = []
        for i, name in enumerate(chain):
            y = top + layout.centre[name]
            at = level[name]
            centre = (left[at] + right[at]) / 2
            reach = widths[name] / 2 if name in widths else (right[at] - left[at]) / 2
            if i > 0:
                points.append((centre - reach, y))
            if i + 1 < len(chain):
                points.append((centre + reach, y))
        parts.append(_path(points))
    for name, node in graph.nodes.items():
        at = level[name]
        x0 = (left[at] + right[at]) / 2 - widths[name] / 2
        y0 = top + layout.centre[name] - heights[name] / 2
        parts.append(_box(node, (x0, y0), widths[name], heights[name]))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _shown(node: Node) -> list[str]:
    return [line if len(line) <= WIDEST else line[: WIDEST - 1] + "…" for line in (node.title, *node.lines)]


def _width(node: Node) -> float:
    title, *lines = _shown(node)
    return max([len(title) * CHARACTER * 1.12, *(len(line) * CHARACTER for line in lines)]) + 2 * PAD


def _height(node: Node) -> float:
    return LINE * (1 + len(node.lines)) + PAD * (2.0 if node.lines else 1.2)


def _box(node: Node, place: tuple[float, float], width: float, height: float) -> str:
    fill, stroke = _FILL[node.kind]
    radius = 12 if node.kind in ("category", "files", "sink") else 2
    x, y = place
    title, *lines = _shown(node)
    title_y = y + PAD * 0.6 + LINE * 0.75
    parts = [
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="1.4"/>',
        f'<text x="{x + width / 2:.1f}" y="{title_y:.1f}" text-anchor="middle" font-weight="bold">'
        f"{escape(title)}</text>",
    ]
    if lines:
        rule = y + PAD * 0.8 + LINE
        parts.append(
            f'<line x1="{x:.1f}" y1="{rule:.1f}" x2="{x + width:.1f}" y2="{rule:.1f}" '
            f'stroke="{stroke}" stroke-width="0.7"/>'
        )
    for i, line in enumerate(lines):
        parts.append(_line(line, x + PAD, y + PAD * 1.1 + LINE * (i + 1.8)))
    return "\n".join(parts)


def _line(text: str, x: float, y: float) -> str:
    """`word    rest`: the word in grey, the rest at a tab stop."""
    word, gap, rest = text.partition("  ")
    if not gap:
        return f'<text x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="#7a8793">{escape(word)}</text>'
        f'<text x="{x + 54:.1f}" y="{y:.1f}">{escape(rest.strip())}</text>'
    )


def _path(points: list[tuple[float, float]]) -> str:
    """Straight along boxes, a smooth curve between layers."""
    x, y = points[0]
    commands = [f"M{x:.1f} {y:.1f}"]
    for i in range(1, len(points)):
        x1, y1 = points[i]
        if i % 2 == 0:
            commands.append(f"L{x1:.1f} {y1:.1f}")
        else:
            middle = (x + x1) / 2
            commands.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}")
        x, y = x1, y1
    style = 'fill="none" stroke="#3d4852" stroke-width="1.3" marker-end="url(#arrow)"'
    return f'<path d="{" ".join(commands)}" {style}/>'
