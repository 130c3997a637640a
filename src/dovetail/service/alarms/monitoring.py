"""The alarms for Prometheus, and a dashboard for Grafana: both made from tables, never by hand."""

from __future__ import annotations

import json
from typing import Any

from dovetail.service.alarms.runbooks import RUNBOOKS


def prometheus_rules() -> str:
    """A file of rules, as Prometheus takes it."""
    lines = [
        "# Written by `dovetail alarm rules --prometheus`; do not edit by hand.",
        "groups:",
        "  - name: dovetail",
        "    rules:",
    ]
    for one in RUNBOOKS:
        lines += [
            f"      - alert: dovetail_{one.name}",
            f"        expr: {json.dumps(one.expression)}",
            f"        for: {one.after_min}m",
            "        labels:",
            f"          severity: {one.severity}",
            "        annotations:",
            f"          summary: {json.dumps(one.sentence)}",
            f"          runbook: {json.dumps(f'docs/reference/alarms.md#{one.name}')}",
        ]
    return "\n".join(lines) + "\n"


PANELS: tuple[tuple[str, str, str], ...] = (
    ("Rows per second", "dovetail_application_rows_per_second{application=~'$application'}", "short"),
    ("Match rate", "dovetail_application_match_ratio{application=~'$application'}", "percentunit"),
    ("Backlog, rows", "dovetail_application_stream_backlog_rows{application=~'$application'}", "short"),
    ("Stream time behind the clock", "dovetail_application_delay_seconds{application=~'$application'}", "s"),
    (
        "Late rows per second",
        "rate(dovetail_application_late_total{application=~'$application'}[5m])",
        "short",
    ),
    (
        "Bad rows per second",
        "rate(dovetail_application_bad_total{application=~'$application'}[5m])",
        "short",
    ),
    ("Index", "dovetail_application_index_bytes{application=~'$application'}", "bytes"),
    ("Tasks", "dovetail_application_join_tasks{application=~'$application'}", "short"),
    (
        "Not running as wanted",
        "dovetail_application_state{application=~'$application', state!~'running|stopped'} == 1",
        "short",
    ),
)


def grafana_dashboard() -> str:
    panels = [_panel(number, *panel) for number, panel in enumerate(PANELS)]
    variables = [
        {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
        {
            "name": "application",
            "type": "query",
            "datasource": _SOURCE,
            "query": "label_values(dovetail_application_state, application)",
            "refresh": 2,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        },
    ]
    made: dict[str, Any] = {
        "uid": "dovetail",
        "title": "Dovetail",
        "tags": ["dovetail"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": variables},
        "annotations": {"list": []},
        "panels": panels,
    }
    return json.dumps(made, indent=2) + "\n"


_SOURCE = {"type": "prometheus", "uid": "${source}"}


def _panel(number: int, title: str, expression: str, unit: str) -> dict[str, Any]:
    return {
        "id": number + 1,
        "title": title,
        "type": "timeseries",
        "datasource": _SOURCE,
        "gridPos": {"x": 8 * (number % 3), "y": 8 * (number // 3), "w": 8, "h": 8},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
        "targets": [
            {
                "refId": "A",
                "datasource": _SOURCE,
                "expr": expression.replace("'", '"'),
                "legendFormat": _legend(expression),
            }
        ],
    }


def _legend(expression: str) -> str:
    if "stream_" in expression:
        return "{{application}} {{join}} {{side}}"
    if "join_" in expression:
        return "{{application}} {{join}}"
    return "{{application}} {{state}}" if "state!" in expression else "{{application}}"
