"""Rules of landing that look at what an application was before, and at who reads it. The others are tested
where what they guard is: reach in `test_access.py`, quotas in `test_quotas.py`, sinks in `test_server.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.changes.takeover import take_over
from dovetail.errors import DovetailError, PlanError, StateError
from dovetail.log.category import Category
from dovetail.log.homes.filesystem import open_store
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.source import InputFile
from dovetail.service.keeping import verbs
from dovetail.service.keeping.landing import RULES, land
from dovetail.service.keeping.presence import still_said
from dovetail.service.keeping.wanted import wanted_of
from service.serving import QUERY
from unit.changes.test_takeover import considered

ADS = QUERY.format(name="ads")
TAPS = ADS.replace('"ads_clicks"', '"ads_taps"')
OTHER_TYPE = ADS.replace("ad BIGINT, campaign STRING", "ad INT, campaign STRING")


def fed(home: str, category: str, folder: Path) -> None:
    file = folder / "rows.json"
    file.write_text('{"eventtime": "2026-01-01T00:00:00Z", "ad": 1, "campaign": "sale"}')
    append_file(home, category, InputFile(str(file), file.stat().st_size), kind="json")


def ads_has_run(home: str, folder: Path) -> None:
    """The application, with its categories and one more that could take the place of one."""
    for name in ("ads_clicks", "ads_taps", "ads_views", "ads_out"):
        fed(home, name, folder)
    verbs.deploy(home, ADS, by="ada")
    take_over(considered(home, ADS))
    open_store(home).make_folder("apps/ads/checkpoints/clicked")  # as a run would


@pytest.fixture
def home(tmp_path: Path) -> str:
    """A home where the application has run."""
    made = str(tmp_path / "home")
    ads_has_run(made, tmp_path)
    return made


def findings(home: str, text: str, application: str | None = "ads") -> dict[str, DovetailError]:
    return {found.rule: found.error for found in land(home, text, application, "ada").findings}


def test_every_rule_has_a_name_that_errors_carry() -> None:
    assert list(RULES) == [
        "reaches",
        "compiles",
        "named",
        "continues",
        "alone",
        "writable",
        "read",
        "in_log",
        "fits",
    ]


def test_named(home: str) -> None:
    assert "is for application ads, not for news" in findings(home, ADS, "news")["named"].what
    assert "there is an application ads already" in findings(home, ADS, None)["named"].what
    assert findings(home, ADS) == {}


def test_continues(home: str) -> None:
    """A change that the rules of changes allow lands, with its words; another does not, and changes
    nothing."""
    wider = ADS.replace("1 minute", "2 minutes")
    landing = land(home, wider, "ads")
    assert landing.ok
    assert any("2 minutes" in words for words in landing.changes)
    assert list(findings(home, OTHER_TYPE)) == ["continues"]
    with pytest.raises((StateError, PlanError)):
        verbs.deploy(home, OTHER_TYPE, by="ada")
    assert wanted_of(home, "ads").text == ADS


def test_read(home: str) -> None:
    """Whoever reads an application's output is asked before it goes away."""
    moved = ADS.replace('"ads_out"', '"ads_elsewhere"')
    take_over(considered(home, QUERY.format(name="reports").replace('"reports_clicks"', '"ads_out"')))
    assert "read" not in findings(home, moved)
    category = Category.open(home, "ads_out")
    category.set_reader("reports.reader", 0, application="reports")
    assert "application reports reads category ads_out" in findings(home, moved)["read"].what
    assert "read" not in findings(home, ADS), "as long as it goes on writing it"


def test_what_goes_with_a_query_is_said_for_one_change(home: str) -> None:
    """An input gets another source: refused, until somebody says where that begins. A start after the change
    does not say it again, and the next query says nothing."""
    assert "say where it begins: --from c=latest" in str(findings(home, TAPS)["continues"].hint)
    for begins, wrong in (
        (["c=soon"], "not a place in a source"),
        (["x=latest"], "its source has not changed"),
    ):
        assert wrong in land(home, TAPS, "ads", begins=begins).findings[0].error.what
    with pytest.raises(StateError, match="cannot go on"):
        verbs.deploy(home, TAPS, by="ada")
    made, _ = verbs.deploy(home, TAPS, by="ada", begins=["c=earliest"])
    assert (made, made.begins, made.beside) == (wanted_of(home, "ads"), ("c=earliest",), 1)
    assert still_said(home, made) == (("c=earliest",), False)
    verbs.stop(home, "ads", by="ada")
    assert verbs.start(home, "ads", by="ada").begins == ("c=earliest",), "it has not been heard yet"

    take_over(considered(home, TAPS, begins=["c=earliest"]))
    known = verbs.restart(home, "ads", by="ada")
    assert still_said(home, known) == ((), False)
    verbs.stop(home, "ads", by="ada")
    verbs.start(home, "ads", by="ada")

    with pytest.raises(StateError, match="cannot go on"):
        verbs.rollback(home, "ads", 1, by="ada")
    back = verbs.rollback(home, "ads", 1, by="ada", begins=["c=latest"], reslice=True)
    assert (back.text, back.begins, back.reslice, back.beside) == (ADS, ("c=latest",), True, 2)
    after, _ = verbs.deploy(home, TAPS.replace("1 minute", "2 minutes"), by="ada")
    assert not after.needs_start


def test_a_first_query_has_no_other_source_than_before(home: str) -> None:
    first = QUERY.format(name="ads_new")
    assert land(home, first, owner="ada").ok
    (found,) = land(home, first, owner="ada", begins=["c=latest"]).findings
    assert "its source has not changed" in found.error.what
