"""Costs: what is written is read back, and what makes no sense is refused with its place."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import DovetailError, InputError, SettingError, UnknownVersion
from dovetail.simulate.costs import Costs
from dovetail.simulate.costs_file import from_json, read_costs, to_json, write_costs
from dovetail.simulate.paper_costs import paper_costs


@pytest.mark.parametrize("costs", [Costs(), paper_costs()])
def test_written_and_read_back(costs: Costs, tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    write_costs(costs, path)
    assert read_costs(path) == costs


def test_a_file_may_hold_only_what_was_measured() -> None:
    document = {"format": "dovetail.costs", "version": 1, "hop_ns": 60, "compare_ns": [[1024, 0.1]]}
    assert from_json(document, "here") == replace(Costs(), hop_ns=60.0, compare_ns=((1024, 0.1),))


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        ({"format": "other"}, InputError, "not a file of costs"),
        ({"version": 2}, UnknownVersion, "version 2"),
        ({"hops_ns": 1}, InputError, "no cost 'hops_ns'"),
        ({"hop_ns": -1}, InputError, "hop_ns"),
        ({"hop_ns": "1"}, InputError, "hop_ns"),
        ({"hop_ns": True}, InputError, "hop_ns"),
        ({"hop_ns": math.nan}, InputError, "hop_ns"),
        ({"hop_ns": math.inf}, InputError, "hop_ns"),
        ({"compare_ns": []}, InputError, "compare_ns"),
        ({"compare_ns": [[4, 1.0], [2, 1.0]]}, InputError, "compare_ns"),
        ({"compare_ns": [[4, 1.0], [4, 1.0]]}, InputError, "compare_ns"),
        ({"compare_ns": [[4, 0]]}, InputError, "compare_ns"),
        ({"compare_ns": [[4]]}, InputError, "compare_ns"),
        ({"compare_ns": 3}, InputError, "compare_ns"),
        ({"timeslice_ns": 1, "switch_ns": 1}, InputError, "timeslice_ns"),
        ({"source": 3}, InputError, "source"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any], kind: type[DovetailError], says: str) -> None:
    document = json.loads(json.dumps({**to_json(Costs()), **change}))
    with pytest.raises(kind) as refused:
        from_json(document, "the file")
    assert says in str(refused.value)
    assert "the file" in str(refused.value.where)


def test_unreadable_files_are_errors_for_people(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_costs(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        read_costs(tmp_path / "bad.json")


def test_costs_cannot_be_built_wrong() -> None:
    with pytest.raises(SettingError):
        Costs(hop_ns=-1.0)


def test_a_comparison_goes_from_level_to_level() -> None:
    costs = Costs(compare_ns=((1 << 10, 1.0), (1 << 12, 3.0)), timestamp_ns=0.5)
    assert [costs.comparison_ns(1 << power, timed=False) for power in (3, 10, 11, 12, 20)] == [1, 1, 2, 3, 3]
    assert costs.comparison_ns(1 << 11, timed=True) == 2.5


def test_the_papers_costs_give_back_the_papers_statements() -> None:
    """They are inputs: the model is right if it spends one core's budget exactly."""
    costs = paper_costs()
    count = costs.comparison_ns(2**21 / 28, timed=False)
    assert 5200 * 2**21 / 28 * count == pytest.approx(1e9)
    timed = costs.comparison_ns(1, timed=True)
    assert 4400 * (2200 * 900 / 28) * timed == pytest.approx(1e9)
    each = 2 * costs.hop_ns + costs.monitor_ns + costs.expiry_ns
    assert 2750 * (1375 * 900 / 28 * timed + each) == pytest.approx(1e9)
