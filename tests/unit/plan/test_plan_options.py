"""One table of options: what it says is what the parser takes and the docs print."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.errors import PlanError
from dovetail.model.estimate_spec import EstimateSpec
from dovetail.plan.joins.options import BY_NAME, OPTIONS, KnownOption, checked, find, resolve
from dovetail.plan.statements import JoinOption

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "pql.md"


def row(option: KnownOption) -> str:
    values = option.expected.replace(" | ", " or ")  # a bar would end the cell
    default = f"`{option.default_text}`" if option.default_text else ""
    return f"| `{option.name}` | {values} | {default} | {option.joins.words} | {option.sentence} |"


def test_the_reference_page_has_the_table() -> None:
    section = PAGE.read_text().partition("| option | value | default | applies to |")[2].partition("\n\n")[0]
    printed = [line for line in section.splitlines() if line.startswith("| `")]
    assert printed == [row(option) for option in OPTIONS]


def test_defaults() -> None:
    options = resolve([])
    assert (options.match, options.pick, options.buckets, options.settings.tasks) == (
        "all",
        "first",
        64,
        None,
    )
    assert options.settings.left_max_delay_us == options.settings.right_max_delay_us == 120_000_000


def test_each_side_may_have_its_own_delay() -> None:
    options = resolve([JoinOption("max_delay", 7), JoinOption("left_max_delay", 0)])
    assert (options.settings.left_max_delay_us, options.settings.right_max_delay_us) == (0, 7)


def test_an_unknown_option_lists_those_that_exist() -> None:
    with pytest.raises(PlanError) as caught:
        find("max_dealy")
    assert caught.value.expected == ", ".join(BY_NAME)
    assert caught.value.hint == "did you mean `max_delay`?"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("match", "both"),
        ("match", 1),
        ("buckets", 0),
        ("buckets", 4097),
        ("buckets", "8"),
        ("buckets", 8.5),
        ("tasks", -1),
        ("stream_time", "median"),
        ("percentile", 120),
        ("percentile", -0.5),
        ("percentile", "1"),
        ("ascending", 1),
        ("sample_rows", 0),
        ("max_window", 0),
    ],
)
def test_values_that_an_option_does_not_take(name: str, value: object) -> None:
    with pytest.raises(PlanError) as caught:
        checked(BY_NAME[name], value)
    assert caught.value.expected == BY_NAME[name].expected


def test_estimated_time() -> None:
    options = resolve([JoinOption("stream_time", "percentile"), JoinOption("percentile", 2.5)])
    assert options.settings.estimate == EstimateSpec("percentile", 2.5)
    assert resolve([]).settings.estimate is None
    mean = resolve([JoinOption("stream_time", "mean"), JoinOption("max_window", 8)]).settings.estimate
    assert mean is not None
    assert (mean.statistic, mean.levels) == ("mean", 4)


@pytest.mark.parametrize(
    "given",
    [
        [JoinOption("percentile", 2)],
        [JoinOption("stream_time", "mean"), JoinOption("percentile", 2)],
        [JoinOption("stream_time", "percentile"), JoinOption("max_delay", 7)],
        [JoinOption("sample_rows", 10)],
        [JoinOption("pick", "latest")],
    ],
)
def test_an_option_that_has_no_say_is_refused(given: list[JoinOption]) -> None:
    with pytest.raises(PlanError, match="has no effect with") as caught:
        resolve(given)
    assert caught.value.expected
    assert caught.value.hint
