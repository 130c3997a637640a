"""The exhibits of the papers: each has its place on its page, says how it is shown, and can be made."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.paper.catalog import PAPERS
from bench.paper.exhibit import Effort, Exhibit, Finding, Made, Paper, block, judged
from bench.paper.plots import bars, lines
from bench.papers import PAGES, write
from bench.tables import Table, with_tables

from laws.effort import THOROUGH

EXHIBITS = {f"{paper.name} {one.name}": one for paper in PAPERS for one in paper.exhibits}
CHEAP = (
    "splitjoin text_1_measured",
    "splitjoin text_7_4",
    "splitjoin figure_16",
    "handshake text_2_2_measured",
    "handshake figure_8_earlier",
    "handshake figure_16",
    "handshake figure_18",
    "handshake table_1",
    "intra-window figure_3",
    "intra-window figure_11",
    "intra-window figure_13",
    "intra-window figure_16",
    "intra-window figure_18",
    "intra-window figure_19b",
    "intra-window speed_rest",
    "intra-window speed_threads",
    "intra-window table_6",
)
"""Those that take a second or two; the others wait for rows, start processes or compile kernels again: they
are of the tier `full`."""
TRUE = Finding("1", "a is above b", "a > b", lambda values: values["a"] > values["b"])


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_a_page_has_a_place_for_each_exhibit_and_lists_them_all(paper: Paper) -> None:
    page = (PAGES / paper.page).read_text()
    places = re.findall(r"<!-- table: (\w+) -->", page)
    assert sorted(places) == sorted(["contents", *(one.name for one in paper.exhibits if one.make)])
    assert with_tables(page, {"contents": paper.contents().markdown}) == page


@pytest.mark.parametrize("name", EXHIBITS if THOROUGH else CHEAP)
def test_it_can_be_made(name: str) -> None:
    exhibit = EXHIBITS[name]
    if exhibit.make is not None:
        made = exhibit.make(Effort(quick=True))
        assert made.right
        assert made.tables
        assert block(exhibit, made)


@pytest.mark.parametrize(("gain", "held"), [(3.9, False), (4.1, True)])
def test_twice_the_load_of_a_time_window_is_four_times_the_comparisons(gain: float, held: bool) -> None:
    (finding,) = EXHIBITS["handshake figure_15"].findings
    assert finding.holds({"gains": {"handshake": gain}}) is held


def test_what_is_not_shown_has_a_reason() -> None:
    with pytest.raises(ValueError, match="say why"):
        Exhibit("table_2", "power", "6.5", "not shown")
    with pytest.raises(ValueError, match="either it is made"):
        Exhibit("table_2", "power", "6.5", "measured")


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({"a": 2, "b": 1}, "held"),
        ({"a": 1, "b": 1}, "not held"),
        ({}, "not seen"),
        ({"a": None, "b": 1}, "not seen"),
    ],
)
def test_a_verdict_follows_from_the_values(values: dict[str, int], verdict: str) -> None:
    exhibit = Exhibit("figure_1", "a and b", "1", "computed", lambda effort: Made(), (TRUE,))
    table = judged(exhibit, Made(values=values))
    assert table is not None
    assert table.rows == [("1", "a is above b", "a > b", verdict)]


def test_a_sentence_about_a_rate_says_nothing_of_a_run_that_sent_less() -> None:
    about = Finding("1", "at 1,600 a is above b", "a > b", lambda values: values["a"] > values["b"], 1.0)
    exhibit = Exhibit("figure_1", "a and b", "1", "computed", lambda effort: Made(), (about,))
    verdicts = []
    for scale in (0.1, 1.0):
        table = judged(exhibit, Made(values={"a": 2, "b": 1}, scale=scale))
        assert table is not None
        verdicts.append(table.rows[0][-1])
    assert verdicts == ["not seen", "held"]


@pytest.mark.parametrize("kind", [bars, lines])
def test_a_plot_is_drawn_only_where_pictures_are_asked_for(
    tmp_path: Path, kind: Callable[..., list[str]]
) -> None:
    shown = {"rows/s": {"one": {"4": 1.0, "8": 2.0}, "two": {"8": 3.0}}}
    assert kind(Effort(), "figure", **({} if kind is bars else {"axis": "cores"}), panels=shown) == []
    made = kind(Effort(out=tmp_path), "figure", **({} if kind is bars else {"axis": "cores"}), panels=shown)
    assert made == ["figure.svg"]
    assert "rows/s" in (tmp_path / "figure.svg").read_text()


def test_only_what_was_made_is_written(tmp_path: Path) -> None:
    made = Made({"rates": Table(("", "rows/s"), [("here", "7")])}, ("f.svg",), {"a": 2, "b": 1})
    paper = Paper(
        "one",
        "one.md",
        (
            Exhibit("figure_1", "a and b", "1", "computed", lambda effort: made, (TRUE,)),
            Exhibit("figure_2_measured", "c", "1", "measured", lambda effort: made),
        ),
    )
    old = "".join(
        f"<!-- table: {name} -->\nold\n<!-- end -->\n"
        for name in ("contents", "figure_1", "figure_2_measured")
    )
    (tmp_path / "one.md").write_text(old)
    write(paper, {"figure_1": made}, tmp_path)
    page = (tmp_path / "one.md").read_text()
    assert "| here | 7 |" in page
    assert "![Figure 1](f.svg)" in page
    assert "| 1 | a is above b | a > b | held |" in page
    assert "| Figure 2, measured | c | 1 | measured |  |" in page
    assert page.count("old") == 1
