"""The table of metrics: its names, and that its page is current."""

from __future__ import annotations

import pytest

from commands import run_command
from dovetail.service.checkout import checkout_root
from dovetail.service.metrics import Measured
from dovetail.service.prometheus import families, to_markdown


def test_the_reference_page_is_current() -> None:
    page = checkout_root() / "docs/reference/metrics.md"
    assert page.read_text() == to_markdown(), "write it again: dovetail status --markdown"


def test_the_page_names_every_metric_as_it_is_served() -> None:
    page = to_markdown()
    for family in families(Measured("app", 0, (), {"table": 1}, {"table": 1})):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert f"| `{name}` | {family.type} | {family.documentation} |" in page


def test_the_command_needs_no_application(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("status", "--markdown") == 0
    assert capsys.readouterr().out == to_markdown()
