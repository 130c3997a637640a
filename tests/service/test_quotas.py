"""What an owner's applications may take: at landing by an estimate, and while they run by what they
measure."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from commands import run_command
from dovetail.errors import CorruptFile, DovetailError
from dovetail.log.category import Category
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.source import InputFile
from dovetail.service.keeping import verbs
from dovetail.service.keeping.estimate import estimate
from dovetail.service.keeping.events import events
from dovetail.service.keeping.landing import land
from dovetail.service.keeping.quotas import (
    EVERYBODY,
    Quota,
    QuotaError,
    Usage,
    drop_quota,
    exceeded,
    held,
    quotas,
    set_quota,
)
from dovetail.service.keeping.usage import usages
from dovetail.service.keeping.wanted import Wanted, want
from service.test_keeper import Kept, kept  # noqa: F401

QUERY = """CREATE APPLICATION {name};
CREATE INPUT TABLE c (eventtime TIMESTAMP, ad BIGINT) FROM SCRIBE("clicks");
CREATE INPUT TABLE i (eventtime TIMESTAMP, ad BIGINT) FROM SCRIBE("impressions");
CREATE VIEW v AS SELECT c.eventtime AS eventtime, c.ad AS ad FROM c JOIN i ON c.ad = i.ad
  AND i.eventtime BETWEEN c.eventtime - INTERVAL '{minutes} minutes' AND c.eventtime;
CREATE TABLE result AS SELECT eventtime, ad FROM v STORAGE SCRIBE (category = "{name}_out");
"""


def fed(home: str, folder: Path) -> None:
    """A thousand rows per second of event time in each input."""
    path = folder / "rows.json"
    rows = [
        {"eventtime": f"2026-01-01T00:00:{n // 1000:02d}.{n % 1000:03d}Z", "ad": n} for n in range(10_001)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    for name in ("clicks", "impressions"):
        append_file(home, name, InputFile(str(path), path.stat().st_size), kind="json")


def findings(home: str, text: str) -> dict[str, DovetailError]:
    return {found.rule: found.error for found in land(home, text, owner="ada").findings}


def test_what_is_needed_follows_from_rates_and_bounds(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    fed(home, tmp_path)
    ten, hundred = (land(home, QUERY.format(name="one", minutes=m)).estimate for m in (10, 100))
    assert ten is not None
    assert hundred is not None
    assert 1_900 < ten.rows_per_s < 2_100
    assert 2_000 * 600 * 30 < ten.memory_bytes < 2_000 * 900 * 60
    assert 6 < hundred.memory_bytes / ten.memory_bytes < 11
    new = land(str(tmp_path / "empty"), QUERY.format(name="one", minutes=10))
    assert new.plan is not None
    nothing = estimate(str(tmp_path / "empty"), new.plan)
    assert (nothing.memory_bytes, len(nothing.unknown)) == (0, 2)


def test_a_query_that_needs_more_than_its_owner_may_have_does_not_land(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    fed(home, tmp_path)
    text = QUERY.format(name="one", minutes=10)
    assert findings(home, text) == {}
    for quota in (Quota("ada", memory_bytes=1_000_000), Quota("ada", rows_per_s=500), Quota("ada", tasks=0)):
        set_quota(home, quota)
        assert list(findings(home, text)) == ["fits"]
    assert "ada may have 0" in findings(home, text)["fits"].what
    with pytest.raises(QuotaError):
        verbs.deploy(home, text, by="ada")
    verbs.deploy(home, text, by="bob")
    set_quota(home, Quota("bob", tasks=0))
    with pytest.raises(QuotaError):  # whoever changes it, it is bob's
        verbs.deploy(home, f"{text} ", by="ada")


def usage(name: str, since: int, memory: int) -> Usage:
    return Usage(name, since, memory, 10.0, 1)


def test_the_one_that_was_changed_last_is_held_until_the_others_fit() -> None:
    used = {"ada": [usage("a", 1, 60), usage("c", 3, 50), usage("b", 2, 30)], "bob": [usage("d", 9, 900)]}
    assert held({}, used) == {}
    assert list(held({"ada": Quota("ada", memory_bytes=100)}, used)) == ["c"]
    assert list(held({"ada": Quota("ada", memory_bytes=70)}, used)) == ["c", "b"]
    assert list(held({"ada": Quota("ada", memory_bytes=10)}, used)) == ["c", "b", "a"]
    assert list(held({"ada": Quota("ada", rows_per_s=20)}, used)) == ["c"]
    assert list(held({"ada": Quota("ada", tasks=2), "bob": Quota("bob", tasks=1)}, used)) == ["c"]
    assert exceeded(Quota("ada"), used["ada"]) is None


def test_a_quota_that_is_changed_under_a_running_application_holds_it_and_lets_it_go(kept: Kept) -> None:  # noqa: F811
    want(kept.home, Wanted("clicks", 1, "running", "query", "ada", "ada", 0, "deployed"))
    figures = Path(kept.home) / "apps/clicks/metrics.json"
    figures.parent.mkdir(parents=True)
    join = {"totals": {"index_bytes": 5_000_000}, "tasks": 2, "left": {"rows_per_s": 10.0}, "right": {}}
    figures.write_text(json.dumps({"joins": [join]}))
    kept.until("running")
    set_quota(kept.home, Quota("ada", memory_bytes=1_000_000))
    kept.until("held")
    kept.holds(lambda: not kept.alive(), "stopped")
    assert "ada may have 977 KiB" in kept.keeper.decisions["clicks"].why
    assert len(kept.started) == 1
    set_quota(kept.home, Quota("ada", memory_bytes=6_000_000))
    kept.until("running")
    assert len(kept.started) == 2


def test_what_a_landing_will_need_is_reserved_at_once(tmp_path: Path) -> None:
    """Neither of two has measured itself yet, and each would fit alone."""
    home = str(tmp_path / "home")
    fed(home, tmp_path)
    one, two = (QUERY.format(name=name, minutes=10) for name in ("one", "two"))
    alone = land(home, one, owner="ada").estimate
    assert alone is not None
    set_quota(home, Quota("ada", memory_bytes=round(1.5 * alone.memory_bytes)))
    first, _ = verbs.deploy(home, one, by="ada")
    assert (first.reserved_bytes, first.filled_s) == (alone.memory_bytes, alone.filled_s)
    with pytest.raises(QuotaError, match="the applications of ada would take"):
        verbs.deploy(home, two, by="ada")
    verbs.stop(home, "one", by="ada")
    verbs.deploy(home, two, by="ada")
    with pytest.raises(QuotaError):
        verbs.start(home, "one", by="ada")
    filled_us = 1_000_000 * (alone.filled_s + 60)
    (later,) = usages(home, now_us=time.time_ns() // 1000 + filled_us)["ada"]
    assert later.memory_bytes == 0, "it counts with what it measures, which is nothing here"


def test_what_everybody_takes_together_fits_into_the_machine(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    fed(home, tmp_path)
    one, two = (QUERY.format(name=name, minutes=10) for name in ("one", "two"))
    verbs.deploy(home, one, by="ada")
    needed = verbs.wanted_of(home, "one").reserved_bytes
    set_quota(home, Quota(EVERYBODY, memory_bytes=round(1.5 * needed)))
    with pytest.raises(QuotaError, match="all applications on this machine would take"):
        verbs.deploy(home, two, by="bob")
    verbs.place(home, "one", "own", "spark://head:7077", by="ada")
    verbs.deploy(home, two, by="bob")
    huge = QUERY.format(name="huge", minutes=10**6)
    drop_quota(home, EVERYBODY)
    assert list(findings(home, huge)) == ["fits"], "nobody has said so, and the machine ends somewhere"


def test_the_newest_on_the_machine_is_held_and_an_event_says_why(kept: Kept) -> None:  # noqa: F811
    set_quota(kept.home, Quota(EVERYBODY, memory_bytes=1_000_000))
    now_us = kept.now_us
    reserving = Wanted(
        "clicks", 1, "running", "query", "ada", "ada", now_us, "deployed", reserved_bytes=2_000_000
    )
    want(kept.home, replace(reserving, filled_s=600))
    kept.keeper.step()
    assert kept.condition() == "held"
    kept.keeper = kept.another()
    kept.keeper.step()
    (event,) = events(kept.home, "clicks")
    assert event["kind"] == "held", "once, however many keepers look"
    assert "all applications may have 977 KiB" in event["words"]
    kept.now_us += 601_000_000
    kept.until("running")


def test_a_damaged_quota_holds_nobody_and_is_named(kept: Kept) -> None:  # noqa: F811
    want(kept.home, Wanted("clicks", 1, "running", "query", "ada", "ada", 0, "deployed"))
    set_quota(kept.home, Quota("ada", tasks=5))
    path = Path(kept.home) / "service/quotas/ada.json"
    path.write_bytes(path.read_bytes().replace(b"5", b"0"))
    with pytest.raises(CorruptFile):
        quotas(kept.home)
    kept.until("running")
    assert [error.condition for error in kept.keeper.damaged] == ["FILE_CORRUPT"]


def test_the_command_sets_and_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOVETAIL_HOME", str(tmp_path))
    assert run_command("service", "quota", "ada", "--memory", "2GiB", "--tasks", "8") == 0
    assert run_command("service", "quota", "ada", "--tasks", "none", "--rate", "1000") == 0
    run_command("service", "quota")
    assert capsys.readouterr().out == "ada: 2.00 GiB of join state, 1,000 rows/s\n"
    assert run_command("service", "quota", "../x", "--tasks", "8") == 1
    assert run_command("service", "quota", "ada", "--tasks", "many") == 1


def test_the_log_must_reach_back_to_where_an_application_was(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    fed(home, tmp_path)
    text = QUERY.format(name="one", minutes=10)
    wanted, landing = verbs.deploy(home, text, by="ada")
    assert landing.plan is not None
    from dovetail.log.homes.filesystem import open_store
    from dovetail.plan.application_file import application_path, encode

    open_store(home).make_folder("apps/one")
    open_store(home).replace(application_path("one"), encode(landing.plan))
    Category.open(home, "clicks").set_reader("one.reader", 0, application="one")
    assert "in_log" not in findings(home, text)
    fed(home, tmp_path)
    category = Category.open(home, "clicks")
    category.set_reader("one.reader", 1, application="one")
    category.retain()
    path = next(iter((tmp_path / "home").glob("log/clicks/readers/*.json")))
    earlier = path.read_bytes()
    category.drop_reader("one.reader")
    from dovetail.log import document

    body = json.loads(earlier)["body"]
    kind, version = json.loads(earlier)["format"], json.loads(earlier)["version"]
    path.write_bytes(document.encode(kind, version, {**body, "needs_commit": 0}))
    found = {one.rule: one.error for one in land(home, text, "one").findings}
    assert "begins at commit 1" in found["in_log"].what
    assert wanted.application == "one"
