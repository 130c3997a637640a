"""Sends alarms: to a webhook, a chat that accepts Slack's JSON, Alertmanager, or by e-mail."""

from __future__ import annotations

import json
import smtplib
import urllib.error
import urllib.parse
import urllib.request
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any

from dovetail.errors import Unreachable
from dovetail.service.alarms.ringing import News
from dovetail.service.alarms.settings import Target

PATIENCE_S = 10.0


def send(target: Target, news: News) -> None:
    """Raise Unreachable if it did not arrive."""
    try:
        match target.channel:
            case "webhook":
                _post(target.address, as_webhook(news))
            case "slack":
                _post(target.address, {"text": as_line(news)})
            case "alertmanager":
                _post(target.address.rstrip("/") + "/api/v2/alerts", [as_alert(news)])
            case "email":
                _mail(target.address, news)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        said = f"{type(error).__name__}: {error}"[:200]
        raise Unreachable(f"an alarm did not arrive: {said}", where=f"{target.channel} target") from None


def as_line(news: News) -> str:
    held = news.held
    if news.what == "over":
        return f"over: {held.application}, {held.name}"
    return f"{held.severity}: {held.application}, {held.name}: {held.words}"


def as_webhook(news: News) -> dict[str, Any]:
    held = news.held
    return {
        "what": news.what,
        "application": held.application,
        "alarm": held.name,
        "severity": held.severity,
        "words": held.words,
        "since": _iso(held.since_us),
    }


def as_alert(news: News) -> dict[str, Any]:
    """As Alertmanager takes it. One that is over has an end."""
    held = news.held
    labels = {"alertname": f"dovetail_{held.name}", "application": held.application}
    alert: dict[str, Any] = {
        "labels": {**labels, "severity": held.severity},
        "annotations": {"summary": held.words},
        "startsAt": _iso(held.since_us),
    }
    return {**alert, "endsAt": _iso(held.seen_us)} if news.what == "over" else alert


def _post(address: str, body: Any) -> None:
    data = json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    # `settings.py` takes http and https only
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # nosec B310
        answer.read()


def _mail(address: str, news: News) -> None:
    parts = urllib.parse.urlsplit(address)
    asked = dict(urllib.parse.parse_qsl(parts.query))
    message = EmailMessage()
    message["Subject"] = f"Dovetail: {as_line(news)}"[:200].replace("\n", " ")
    message["From"], message["To"] = asked.get("from", "dovetail@localhost"), asked.get("to", "")
    message.set_content(as_line(news) + f"\nsince {_iso(news.held.since_us)}\n")
    with smtplib.SMTP(parts.hostname or "localhost", parts.port or 25, timeout=PATIENCE_S) as server:
        server.send_message(message)


def _iso(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1e6, UTC).isoformat()
