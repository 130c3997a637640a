"""The exhibits of the papers: each has its place on its page, says how it is shown, and can be made."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bench.paper import speed
from bench.paper.catalog import PAPERS
from bench.paper.exhibit import Effort, Exhibit, Finding, Made, Paper, block, judged
from bench.paper.intra_window import of_the_papers
from bench.paper.intra_window_findings import EARLY, RATE
from bench.paper.intra_window_studies import both_ways
from bench.paper.plots import bars, lines
from bench.paper.simd import gains_of
from bench.paper.speed import looked_at
from bench.papers import PAGES, main, write
from bench.sliding_rates import Case, Measured
from bench.tables import Table, with_tables
from bench.window_studies import Point, Run, Study
from bench.window_workloads import Window

from laws.effort import THOROUGH

EXHIBITS = {f"{paper.name} {one.name}": one for paper in PAPERS for one in paper.exhibits}
CHEAP = (
    "facebook text_5_2",
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
    "intra-window figure_15",
    "intra-window figure_16",
    "intra-window figure_18",
    "intra-window figure_19b",
    "intra-window speed_rest",
    "intra-window speed_threads",
    "intra-window table_3",
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


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_finding_has_its_section_and_a_relation(name: str) -> None:
    for one in EXHIBITS[name].findings:
        assert re.fullmatch(
            r"(SplitJoin, )?(\d|A)(\.\d)*( \(earlier version\)|, of time windows)?", one.section
        )
        assert one.says
        assert one.relation


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_what_a_page_says_of_its_paper_has_a_section(paper: Paper) -> None:
    """What the paper *does not* say is in no section of it."""
    page = (PAGES / paper.page).read_text()
    prose = re.sub(r"<!-- table: .*?<!-- end -->|```.*?```|^#.*?$", "", page, flags=re.DOTALL | re.MULTILINE)
    sentences = [
        sentence
        for paragraph in re.split(r"\n\s*\n", prose)
        for sentence in re.split(r"(?<=[.:])\s+(?=[A-Z*`])", " ".join(paragraph.split()))
        if re.search(r"\b([Tt]he paper [a-z]+s|[Ii]n the paper)\b(?! not)", sentence)
    ]
    assert sentences
    place = r"\(([^)]*[ :,])?(\d|A\.)|\b(section|figure|table)s? \d"
    assert [sentence for sentence in sentences if not re.search(place, sentence, re.IGNORECASE)] == []


@pytest.mark.parametrize(("gain", "held"), [(3.9, False), (4.1, True)])
def test_twice_the_load_of_a_time_window_is_four_times_the_comparisons(gain: float, held: bool) -> None:
    (finding,) = EXHIBITS["handshake figure_15"].findings
    assert finding.holds({"gains": {"handshake": gain}}) is held


@pytest.mark.parametrize(
    ("early", "verdict"), [({"0.1": 9.0, "0.2": 5.0, "1.0": 20.0}, True), ({"0.1": 4.0, "0.2": 5.0}, False)]
)
def test_the_best_sorting_step_is_the_best_in_both(early: dict[str, float], verdict: bool) -> None:
    finding = EXHIBITS["intra-window figure_15"].findings[0]
    names = ("pmj_jm", "pmj_jb")
    values = {
        RATE: {step: dict.fromkeys(names, 10.0) for step in early},
        EARLY: {step: dict.fromkeys(names, ms) for step, ms in early.items()},
    }
    assert finding.holds(values) is verdict
    values[RATE]["0.2"]["pmj_jb"] = 8.0
    assert finding.holds(values) is False


def test_a_gain_is_the_median_of_the_turns_ratios() -> None:
    """Not the ratio of the medians, which would be 2: the machine is slower in the second turn."""
    turns = [
        {"without": {"mway": 10.0}, "with": {"mway": 20.0}},
        {"without": {"mway": 2.0}, "with": {"mway": 6.0}},
        {"without": {"mway": 30.0}, "with": {"mway": 90.0}},
    ]
    assert gains_of(turns) == {"mway": 3.0}


def test_figure_12_sends_the_rate_of_the_paper_whatever_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}

    def run_study(study: Study, *_: object) -> list[Run]:
        seen[study.name] = study.points[0].make().rows
        return []

    monkeypatch.setattr("bench.window_studies.run_study", run_study)
    for name in ("figure_12", "figure_14"):
        make = EXHIBITS[f"intra-window {name}"].make
        assert make is not None
        made = make(Effort(scale=0.01))
        assert all("at the paper's rates" in caption for caption in made.tables) is (name == "figure_12")
    assert seen == {"time_skew": 2 * 1_600_000, "window": 2 * 64_000}


@pytest.mark.parametrize(("scale", "share"), [(1.0, "0.1"), (0.05, "0.05")])
def test_a_caption_says_how_many_rows_are_at_rest(
    scale: float, share: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.window_studies.run_study", lambda *_: [])
    monkeypatch.setattr("bench.paper.speed.looked_at", lambda *_: ({}, True))
    moving = Made({"in motion": Table(("",), [])}, scale=scale)
    made = both_ways("duplicates", lambda effort: moving, 0.1)(Effort(scale=scale))
    rows = f"{int(6400 * float(share)) * 1000:,} rows a side ({share} of the paper's R)"
    assert [rows in caption for caption in made.tables] == [False, True, True]


@pytest.mark.parametrize(
    ("rows", "workload", "share"),
    [
        (137_754, "stock", "100 %"),
        (2 * 57_472, "rovio", "2 %"),
        (2 * 574_720, "rovio", "20 %"),
        (1_000_100, "ysb", "10 %"),
    ],
)
def test_a_caption_says_which_share_of_a_workload_was_sent(rows: int, workload: str, share: str) -> None:
    assert of_the_papers(rows, workload) == f"{rows:,} rows, {share} of the paper's"


def test_every_pair_is_looked_at_as_often_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best run counts, and one with other pairs is seen wherever it is."""
    found = iter([6, 6, 5])
    clock = iter([0.0, 8.0, 10.0, 12.0, 20.0, 24.0])
    monkeypatch.setattr("dovetail.intra_window.join.summed", lambda *_: (next(found), 0))
    monkeypatch.setattr("bench.paper.speed.time.perf_counter", lambda: next(clock))
    ones = np.ones(4, np.int32)
    point = Point("four", lambda: Window("four", ones[:3], ones[:2]), ("prj",))
    rates, right = looked_at([point], 1, 3)
    assert rates == {"four": {"prj": pytest.approx(5 / 2.0 / 1e6)}}
    assert not right


def test_only_the_papers_window_is_beside_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []

    def measured(case: Case) -> Measured:
        held.append(case.window)
        return Measured(case, 300_000.0, 260_000.0, 0.0, 0)

    monkeypatch.setattr("bench.sliding_rates.measured", measured)
    (table, _marks) = speed.index(Effort()).tables.values()
    assert [row[-1] for row in table.rows] == ["", "", "50"]
    assert held == [1 << 16] * 3 + [1 << 18] * 3 + [1 << 21] * 3


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


def test_a_quick_run_shows_values_and_verdicts_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--paper", "handshake", "--figure", "table_1", "--quick"], tmp_path) == 0
    said = capsys.readouterr().out
    assert "emulated" in said
    assert "Table 1: findings" in said
    assert "held" in said
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SystemExit, match="mean nothing"):
        main(["--quick", "--write"], tmp_path)
    with pytest.raises(SystemExit, match="no exhibit is called 99"):
        main(["--figure", "99"], tmp_path)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("figures_5_6_7", "Figures 5, 6 and 7"),
        ("figures_9_and_10", "Figures 9 and 10"),
        ("figure_8_earlier", "Figure 8, earlier version"),
        ("text_7_4_measured", "Text of 7.4, measured"),
    ],
)
def test_a_label_is_read_as_a_sentence(name: str, label: str) -> None:
    assert Exhibit(name, "rates", "5", "not shown", note="a drawing").label == label


def test_a_listed_name_is_one_that_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    listed = [line.split(":")[0].split() for line in capsys.readouterr().out.splitlines()]
    assert [f"{paper} {name}" for paper, name in listed] == list(EXHIBITS)
    assert main(["--list", "--figure", "text_7_4_measured"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("splitjoin text_7_4_measured: Text of 7.4, measured, count windows")


@pytest.mark.parametrize(
    ("paper", "number", "names"),
    [
        ("facebook", "10", ["figures_9_and_10"]),
        ("facebook", "11", ["figure_11", "figure_11_spark"]),
        ("splitjoin", "12", ["figure_12", "figure_12_measured"]),
        ("handshake", "8", ["figure_8_earlier"]),
        ("handshake", "table_1", ["table_1"]),
        ("intra-window", "6", ["figures_5_6_7"]),
        ("intra-window", "19b", ["figure_19b"]),
    ],
)
def test_a_number_stands_for_all_that_is_shown_of_a_figure(
    paper: str, number: str, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--list", "--paper", paper, "--figure", number]) == 0
    listed = [line.split(":")[0].split()[1] for line in capsys.readouterr().out.splitlines()]
    assert listed == names


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
