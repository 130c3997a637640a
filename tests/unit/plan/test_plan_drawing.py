"""The operator graph as text and as SVG."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.plan.drawing.graph import Node, PlanGraph, graph_of
from dovetail.plan.drawing.layout import lay_out
from dovetail.plan.drawing.svg import draw_svg
from dovetail.plan.drawing.text import draw_text
from dovetail.pql.compile import compile_pql, trace


@pytest.fixture
def graph(joined: Callable[..., str]) -> PlanGraph:
    text = joined("a.k AS k, abs(a.x) AS x, coalesce(b.y, 0) AS y", "LEFT OUTER")
    return graph_of(trace(text)[-1][1], compile_pql(text))


def test_the_graph_of_a_join_is_the_papers_figure_4(graph: PlanGraph) -> None:
    kinds = {name: node.kind for name, node in graph.nodes.items()}
    assert kinds == {
        "slicer v.left": "slicer",
        "category a": "category",
        "category app.v.left": "category",
        "slicer v.right": "slicer",
        "category b": "category",
        "category app.v.right": "category",
        "join v": "join",
        "post v": "slicer",
        "sink v": "sink",
    }
    assert set(graph.edges) == {
        ("category a", "slicer v.left"),
        ("slicer v.left", "category app.v.left"),
        ("category b", "slicer v.right"),
        ("slicer v.right", "category app.v.right"),
        ("category app.v.left", "join v"),
        ("category app.v.right", "join v"),
        ("join v", "post v"),
        ("post v", "sink v"),
    }
    assert "window   1 minute before to 2 minutes after" in graph.nodes["join v"].lines
    assert "key      k" in graph.nodes["slicer v.left"].lines
    assert "column   x = abs(x)" in graph.nodes["slicer v.left"].lines
    assert "column   y = coalesce(_r_y, 0)" in graph.nodes["post v"].lines
    assert "t TIMESTAMP" in graph.nodes["category a"].lines


def test_text(graph: PlanGraph) -> None:
    drawn = draw_text(graph)
    for node in graph.nodes.values():
        assert node.title in drawn
    assert max(len(line) for line in drawn.splitlines()) <= 100
    assert drawn.count("▼") == 7


def test_svg_is_well_formed_and_keeps_boxes_apart(graph: PlanGraph) -> None:
    graph.add(Node("odd", "files", "<&\"'>", ("a < b",)))
    root = ElementTree.fromstring(draw_svg(graph))
    space = "{http://www.w3.org/2000/svg}"
    boxes = [
        tuple(float(rect.get(key, "0")) for key in ("x", "y", "width", "height"))
        for rect in root.iter(f"{space}rect")
    ][1:]
    assert len(boxes) == len(graph.nodes)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for i, (x, y, w, h) in enumerate(boxes):
        assert x >= 0
        assert x + w <= width
        assert y >= 0
        assert y + h <= height
        for other_x, other_y, other_w, other_h in boxes[i + 1 :]:
            apart = x + w <= other_x or other_x + other_w <= x or y + h <= other_y or other_y + other_h <= y
            assert apart
    assert len(list(root.iter(f"{space}path"))) == len(graph.edges) + 1  # the arrow head is one


@settings(max_examples=50)
@given(
    st.integers(2, 12).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(*[st.integers(0, n - 1)] * 2)))
    )
)
def test_layers_follow_edges_and_boxes_do_not_overlap(drawn: tuple[int, set[tuple[int, int]]]) -> None:
    count, pairs = drawn
    nodes = [str(i) for i in range(count)]
    edges = [(str(a), str(b)) for a, b in sorted(pairs) if a < b]
    sizes = {name: 5.0 + int(name) for name in nodes}
    layout = lay_out(nodes, edges, lambda name: sizes[name], 2.0)
    level = {name: i for i, layer in enumerate(layout.layers) for name in layer}
    assert all(level[a] < level[b] for a, b in edges)
    assert set(nodes) <= set(level)
    for layer in layout.layers:
        placed = [
            (layout.centre[n] - sizes.get(n, 1.0) / 2, layout.centre[n] + sizes.get(n, 1.0) / 2)
            for n in layer
        ]
        assert all(stop <= start + 0.1 for (_, stop), (start, _) in pairwise(placed))
        assert all(start >= -0.1 for start, _ in placed)


def test_a_loop_through_a_category_is_drawn() -> None:
    text = """CREATE APPLICATION app; CREATE INPUT TABLE t (a) FROM SCRIBE("x");
    CREATE TABLE o AS SELECT a FROM t STORAGE SCRIBE(category = "x");"""
    graph = graph_of(trace(text)[-1][1], compile_pql(text))
    assert "o: slicer" in draw_text(graph)
    assert draw_svg(graph).startswith("<svg")


def test_an_aggregate_is_an_operator_between_categories(joined: Callable[..., str]) -> None:
    window = "window(t, '1 hour', '10 minutes')"
    table = f"CREATE TABLE o AS SELECT count(*) AS n FROM v GROUP BY {window} STORAGE NOOP;"
    text = joined("a.t AS t", table=table)
    graph = graph_of(trace(text)[-1][1], compile_pql(text))
    assert graph.nodes["aggregate o.windows"].kind == "aggregate"
    assert "window   windows of 1 hour every 10 minutes" in graph.nodes["aggregate o.windows"].lines
    assert ("category app.o.rows", "aggregate o.windows") in graph.edges
    assert ("aggregate o.windows", "category app.o.windows") in graph.edges
    assert "o: aggregate" in draw_text(graph)
    draw_svg(graph)
