"""The alarms in Prometheus: its own tool checks the rules, and lets each fire and clear over made-up series.
The metrics they name are those that the service has."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from serving import QUERY, quiet_daemon

from commands import run_command
from dovetail.log.category import Category
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.source import InputFile
from dovetail.log.limits import Limits, set_limits
from dovetail.plan.application_file import application_path, encode
from dovetail.pql.compile import compile_program
from dovetail.pql.parser import parse
from dovetail.service.alarms.monitoring import PANELS, grafana_dashboard, prometheus_rules
from dovetail.service.alarms.reach_back import lost_rows
from dovetail.service.alarms.runbooks import RUNBOOKS
from dovetail.service.checkout import checkout_root
from dovetail.service.keeping.wanted import Wanted
from dovetail.service.scaler.decisions import MENDING_S, Decided, is_mending, record
from dovetail.service.scaler.sample import Verdict
from dovetail.service.server.exposition import Watch, service_metrics
from dovetail.service.server.overview import Overview

PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="there is no promtool: `apt-get install prometheus` brings it"
)
A, J, S = 'application="clicks"', 'application="clicks",join="clicked"', ""
LEFT, RIGHT = (f'{J},side="{side}"' for side in ("left", "right"))
APPLICATION = {"application": "clicks"}
JOIN = {**APPLICATION, "join": "clicked"}
P = "dovetail_application_"
HOURS = 60
ILL_AT, WELL_AT = 60, 240
"""Minutes. Each series is ill for the first two hours, and well for the rest."""


def then(ill: str, well: str) -> str:
    """Two hours of one, and then of the other; `a+b` grows by b a minute."""
    return f"{ill}x120 {well}x180"


CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "crash_loop": ({f'{P}state{{{A},state="failed"}}': then("1", "0")}, {**APPLICATION, "state": "failed"}),
    "not_running": (
        {f'{P}state{{{A},state="waiting"}}': then("1", "0")},
        {**APPLICATION, "state": "waiting"},
    ),
    "cannot_keep_up": (
        {f"{P}stream_backlog_rows{{{side}}}": then("100+50", "0") for side in (LEFT, RIGHT)},
        JOIN,
    ),
    "source_silent": (
        {
            f"{P}stream_rows_per_second{{{LEFT}}}": then("0", "50"),
            f"{P}stream_rows_total{{{LEFT}}}": then("1000", "1000"),
        },
        {**JOIN, "side": "left"},
    ),
    "match_rate_low": ({f"{P}match_ratio{{{A}}}": "0.9x3000 0.5x120 0.9x180"}, APPLICATION),
    "time_stuck": (
        {f"{P}time_seconds{{{A}}}": then("5", "5+60"), f"{P}rows_total{{{A}}}": then("0+100", "12100+100")},
        APPLICATION,
    ),
    "late_rows": (
        {
            f"{P}late_total{{{A}}}": then("0+50", "6050"),
            f"{P}rows_total{{{A}}}": then("0+1000", "121000+1000"),
        },
        APPLICATION,
    ),
    "bad_rows": (
        {
            f"{P}bad_total{{{A}}}": then("0+50", "6050"),
            f"{P}rows_total{{{A}}}": then("0+1000", "121000+1000"),
        },
        APPLICATION,
    ),
    "memory": (
        {f"{P}index_bytes{{{A}}}": then("900", "100"), "dovetail_service_host_memory_bytes": "1000x300"},
        APPLICATION,
    ),
    "hot_key": (
        {f"{P}stream_key_ratio{{{LEFT}}}": then("0.7", "0.1"), f"{P}join_tasks{{{J}}}": "2x300"},
        {**JOIN, "side": "left"},
    ),
    "rebuild_long": ({f"{P}join_replaying{{{J}}}": then("1", "0")}, JOIN),
    "log_short": ({f"{P}log_lost{{{A}}}": then("1", "0")}, APPLICATION),
    "daemon_silent": ({"dovetail_service_looked_seconds": "_x120 7200+60x180"}, {}),
    "scaler_at_limit": ({f"{P}scaler_stuck{{{A}}}": then("1", "0")}, APPLICATION),
}


def promtool(*arguments: str) -> str:
    done = subprocess.run([str(PROMTOOL), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_alarm_has_series() -> None:
    assert list(CASES) == [one.name for one in RUNBOOKS]


@needs_promtool
def test_prometheus_takes_the_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(prometheus_rules())
    assert f"{len(RUNBOOKS)} rules found" in promtool("check", "rules", str(tmp_path / "rules.yml"))


@needs_promtool
def test_every_rule_fires_and_clears(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(prometheus_rules())
    tests = []
    for one in RUNBOOKS:
        series, labels = CASES[one.name]
        days = 3000 if one.name == "match_rate_low" else 0
        fires: dict[str, Any] = {
            "exp_labels": {**labels, "severity": one.severity},
            "exp_annotations": {
                "summary": one.sentence,
                "runbook": f"docs/reference/alarms.md#{one.name}",
            },
        }
        alert = f"dovetail_{one.name}"
        tests.append(
            {
                "name": one.name,
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "alert_rule_test": [
                    {"eval_time": f"{days + ILL_AT}m", "alertname": alert, "exp_alerts": [fires]},
                    {"eval_time": f"{days + WELL_AT}m", "alertname": alert, "exp_alerts": []},
                ],
            }
        )
    body = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "tests.yml").write_text(json.dumps(body))  # JSON is YAML
    promtool("test", "rules", str(tmp_path / "tests.yml"))


STREAM = {"rows": 9, "rows_per_s": 1.0, "backlog_rows": 2, "frequent": [{"key": ["x"], "share": 0.4}]}


def exposed() -> str:
    now_us = time.time_ns() // 1000
    join = {
        "name": "clicked",
        "left": {**STREAM, "time_us": 1, "behind_us": 2, "late": 1, "null_keys": 1, "invalid": 0},
        "right": STREAM,
        "match_rate": 0.5,
        "tasks": 2,
        "totals": {"index_bytes": 5, "pairs": 1},
        "replay": None,
    }
    wanted = Wanted("clicks", 1, "running", "", "ada", "ada", now_us, "deployed")
    one = Overview("clicks", wanted, "running", "", {"measured_at_us": now_us, "joins": [join]})
    return service_metrics([one], Watch(1.0, 2, {"clicks"}, {"clicks"})).decode()


def test_rules_and_dashboard_name_what_the_service_measures() -> None:
    known = set(re.findall(r"^(\w+)(?:\{| )", exposed(), re.M))
    texts = [one.expression for one in RUNBOOKS] + [expression for _, expression, _ in PANELS]
    for text in texts:
        assert set(re.findall(r"dovetail_\w+", text)) <= known, text


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    made = json.loads(grafana_dashboard())
    assert made["schemaVersion"] >= 36
    assert {one["name"] for one in made["templating"]["list"]} == {"source", "application"}
    ids, places = [], []
    for panel in made["panels"]:
        assert panel["type"] == "timeseries"
        assert panel["targets"][0]["expr"]
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        ids.append(panel["id"])
        places.append((panel["gridPos"]["x"], panel["gridPos"]["y"]))
    assert len(set(ids)) == len(set(places)) == len(made["panels"])


@pytest.mark.parametrize(
    ("option", "file"),
    [("--prometheus", "prometheus-rules.yml"), ("--grafana", "grafana-dashboard.json")],
)
def test_the_files_in_the_docs_are_current(
    option: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command("alarm", "rules", option) == 0
    assert (checkout_root() / "docs/reference" / file).read_text() == capsys.readouterr().out


def test_the_daemon_is_silent_when_it_has_not_looked_for_a_minute(tmp_path: Path) -> None:
    daemon = quiet_daemon(tmp_path)
    now_s = time.time()
    assert daemon.own_look(now_s).condition == "running"
    daemon.trouble = "the home cannot be reached"
    assert daemon.own_look(now_s + 61).condition == "silent"


def test_what_the_scaler_mends_wakes_nobody_for_a_while(tmp_path: Path) -> None:
    home, now_s = str(tmp_path), float(int(time.time()))  # what is recorded is rounded
    assert not is_mending(home, "clicks", now_s)
    up = Decided(round(now_s * 1e6), "clicks", "clicked", "act", 2, Verdict("up", 4, "more rows"), None)
    record(home, up)
    assert is_mending(home, "clicks", now_s)
    assert not is_mending(home, "clicks", now_s + MENDING_S + 1)
    assert not is_mending(home, "other", now_s)


def test_rows_that_a_reader_was_away_for_too_long_to_get_are_lost(tmp_path: Path) -> None:
    home = str(tmp_path)
    plan = compile_program(parse(QUERY.format(name="clicks"), name="query"), {})
    path = tmp_path / application_path("clicks")
    path.parent.mkdir(parents=True)
    path.write_bytes(encode(plan))
    for _ in range(3):
        file = tmp_path / "rows.jsonl"
        file.write_text('{"eventtime": "2026-01-01T00:00:00Z", "ad": 1}')
        append_file(home, "clicks_clicks", InputFile(str(file), file.stat().st_size), kind="json")
    category = Category.open(home, "clicks_clicks")
    category.set_reader("clicks.c", 0, application="clicks", lease_s=3600)
    assert lost_rows(home, "clicks") is None
    category.set_reader("clicks.c", 0, application="clicks", lease_s=0.0)
    set_limits(category, Limits(None, 1))
    assert lost_rows(home, "clicks") is None, "it is no longer waited for, and its rows are still there"
    category.retain(now_us=time.time_ns() // 1000 + 10**13)
    found = lost_rows(home, "clicks")
    assert found == "category clicks_clicks no longer has all that clicks.c has not read"
