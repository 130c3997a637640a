"""`dovetail simulate`: a table, JSON, figures, and errors for people."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from commands import run_command
from dovetail.service.cli import main as cli
from dovetail.simulate.costs import Costs
from dovetail.simulate.costs_file import write_costs
from dovetail.simulate.figures import FIGURES, Figure, Panel, Series

run = partial(run_command, "simulate")


def test_a_line_for_every_setup(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--design", "kang,split", "--cores", "1,2", "--window", "2^12,30s", "--rows", "500") == 0
    lines = capsys.readouterr().out.splitlines()
    shown = [tuple(line.split()[:3]) for line in lines[1:-1]]
    kang = [("kang", "1", window) for window in ("2^12", "30s")]
    split = [("split", cores, window) for cores in "12" for window in ("2^12", "30s")]
    assert shown == kang + split
    assert "placeholders" in lines[-1]


def test_json_has_the_costs_that_were_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "costs.json"
    write_costs(Costs(hop_ns=60.0, source="measured here"), path)
    assert run("--cores", "4", "--rows", "500", "--costs", str(path), "--seed", "7", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["costs"]["hop_ns"] == 60
    assert found["seed"] == 7
    (only,) = found["answers"]
    assert only["setup"]["cores"] == 4
    assert 0 < only["held_rows_per_s"] <= only["modelled_rows_per_s"]
    assert only["at_load"]["lost"] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--design", "spilt"), "spilt"),
        (("--cores", "0"), "0 cores"),
        (("--cores", "4,x"), "'x'"),
        (("--cores", "4096"), "4096 cores"),
        (("--window", "2^"), "2^"),
        (("--window", "0"), "no window"),
        (("--design", "kang", "--cores", "2"), "Kang"),
        (("--ordering", "outer:0"), "star"),
        (("--ordering", "strict"), "strict"),
        (("--arrivals", "often"), "often"),
        (("--load", "0"), "load"),
        (("--figure", "14"), "14"),
        (("--costs", "no-such-file.json"), "cannot be read"),
    ],
)
def test_what_makes_no_sense_is_an_error(
    arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments, "--json") == cli.EXIT_ERROR
    assert says in json.loads(capsys.readouterr().out)["error"]["what"]


def test_figures_are_drawn_the_same_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    lines = (Series("a", "simulated", (1, 2), (3, 4)), Series("a", "modelled", (1, 2), (3, 5)))
    made = Figure("small", "A small figure", (Panel("x", "y", lines, log_x=True, log_y=True),) * 2)
    monkeypatch.setitem(FIGURES, "small", (lambda costs: made, Costs))
    for folder in ("one", "two"):
        assert run("--figure", "small", "--out", str(tmp_path / folder)) == 0
        assert capsys.readouterr().out.strip().endswith("small.svg")
    first, second = ((tmp_path / folder / "small.svg").read_text() for folder in ("one", "two"))
    assert first == second
    assert "modelled" in first


@pytest.mark.parametrize("name", ["17", "19"])
def test_figures_as_numbers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--figure", name, "--json") == 0
    (figure,) = json.loads(capsys.readouterr().out)["figures"]
    for panel in figure["panels"]:
        sources = [one["source"] for one in panel["series"]]
        assert sources.count("simulated") == sources.count("modelled") > 0
        assert all(len(one["x"]) == len(one["y"]) > 0 for one in panel["series"])
