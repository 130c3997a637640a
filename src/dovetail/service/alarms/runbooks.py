"""The table of alarms: for the daemon, for Prometheus' rules, and for the reference page with its runbooks.

`expression` is the same alarm for Prometheus, over `/metrics` of the service. It differs where history is
concerned: the daemon uses the days that it remembers, Prometheus its own history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["page", "ticket"]
"""page: wake somebody. ticket: look at it during working hours."""


@dataclass(frozen=True)
class Runbook:
    """`action`: the first thing to do. `steps`: what to do then, in order."""

    name: str
    severity: Severity
    after_min: int
    sentence: str
    action: str
    expression: str
    steps: tuple[str, ...]


def _share(total: str) -> str:
    """More than 1 % of at least a thousand rows in a quarter of an hour."""
    rows = "increase(dovetail_application_rows_total[15m])"
    some = f"increase(dovetail_application_{total}_total[15m])"
    return f"{some} > 0.01 * ({rows} + {some}) and {rows} + {some} > 1000"


_RATE = "dovetail_application_match_ratio"
RUNBOOKS: tuple[Runbook, ...] = (
    Runbook(
        "crash_loop",
        "page",
        0,
        "The application keeps failing, or its query cannot run.",
        "Its page shows the error and what its process printed. Deploy a corrected query, or roll back.",
        'dovetail_application_state{state=~"crash loop|failed"} == 1',
        (
            "Read the reason on its page, or `dovetail service events APP`.",
            "If it began with a change, roll back: `dovetail service rollback APP`. Nothing is lost.",
            "If memory ran out, see the alarm `memory`. If a sink or a source fails, fix that first.",
            "`dovetail service restart APP` tries at once, without waiting for the next attempt.",
        ),
    ),
    Runbook(
        "not_running",
        "page",
        5,
        "It should run, but has not started for five minutes.",
        "Its reason says what it waits for: another run that holds it, or a missing input.",
        'dovetail_application_state{state=~"waiting|starting|pending|elsewhere"} == 1',
        (
            "`elsewhere`: somebody runs it by hand. Stop that run, and the service takes over.",
            "`pending`: the service has not looked at it. Is the daemon alive? See `daemon_silent`.",
            "`starting`: look at the output of its process on its page.",
        ),
    ),
    Runbook(
        "cannot_keep_up",
        "page",
        10,
        "Both streams of a join are behind, and fall further behind. One alone would only be waiting.",
        "Give it more tasks (`dovetail scale`), or a larger host.",
        "min by (application, join) (dovetail_application_stream_backlog_rows) > 0 and "
        "sum by (application, join) (deriv(dovetail_application_stream_backlog_rows[10m])) > 0",
        (
            "Compare rows per second with those of yesterday: has the input grown, or has the join slowed?",
            "More tasks: `dovetail scale APP --tasks N`. Rows wait in the log meanwhile; none is lost.",
            "If one key has most of the rows, see `hot_key`. If the host is overloaded, move applications.",
        ),
    ),
    Runbook(
        "source_silent",
        "page",
        15,
        "A stream that had rows gets no more.",
        "Check its writer. Left rows wait for the stream, up to `idle_timeout` if one is set.",
        "dovetail_application_stream_rows_per_second == 0 and dovetail_application_stream_rows_total > 0",
        (
            "Find the writer: the category's page shows when its last rows came.",
            "If the stream is meant to pause, set `idle_timeout`, or mute this alarm for the application.",
            "Results wait, they are not lost. When rows arrive again the join continues by itself.",
        ),
    ),
    Runbook(
        "match_rate_low",
        "page",
        15,
        "Fewer left rows find a partner than at this hour of the days before.",
        "`dovetail why` for a key that should match; compare the delay and the lateness of both streams.",
        f"{_RATE} < (avg_over_time({_RATE}[1h] offset 1d) + avg_over_time({_RATE}[1h] offset 2d)) / 2 - 0.05",
        (
            "Ask `dovetail why APP --key K` for a key that should match.",
            "`outside the window`: it is too narrow. `dovetail advise APP` says what a wider one costs.",
            "`late`, `after it was closed`: rows came after their window. Raise `max_delay`.",
            "No right row with the key: has a writer changed the key, its type or its spelling?",
        ),
    ),
    Runbook(
        "time_stuck",
        "page",
        10,
        "Rows arrive, but stream time does not advance, so no window closes.",
        "`dovetail status` shows which stream holds it back, and rows that are too far ahead.",
        "changes(dovetail_application_time_seconds[10m]) == 0 and "
        "increase(dovetail_application_rows_total[10m]) > 0",
        (
            "On the application's page, find the stream whose time does not advance.",
            "If its rows all have one old time, a writer repeats itself, or a partition lags behind.",
            "Set `percentile` for the estimate, so that a few old rows do not hold time back.",
        ),
    ),
    Runbook(
        "late_rows",
        "ticket",
        15,
        "More than 1 % of the rows are late.",
        "Raise `max_delay`, or let stream time be estimated.",
        _share("late"),
        (
            "`dovetail status APP` counts them, and estimates the matches that were missed.",
            "Deploy the query with a longer `max_delay`, after a dry run in the editor.",
        ),
    ),
    Runbook(
        "bad_rows",
        "ticket",
        15,
        "More than 1 % of the rows cannot be read, or have no usable key or time.",
        "They are kept in the categories `.rejects` and `.invalid`: `dovetail log cat` shows them.",
        _share("bad"),
        (
            "Look at them on the application's page.",
            "Fix the writer. Then append the corrected rows again.",
        ),
    ),
    Runbook(
        "memory",
        "ticket",
        5,
        "Its indexes take more than half of the host's memory.",
        "A narrower window, a cap, or pacing holds fewer rows; `dovetail advise` says what each costs.",
        "dovetail_application_index_bytes > on () group_left () (0.5 * dovetail_service_host_memory_bytes)",
        (
            "Which join is it? Its page shows the index of each.",
            'Let the faster stream wait in the log: `WITH (pacing = "on")`.',
            "Narrow the window, or cap rows per key. A dry run shows which rows that costs.",
        ),
    ),
    Runbook(
        "hot_key",
        "ticket",
        30,
        "One key has more than half of a stream's rows, and one task most of the work.",
        "Cap the rows per key, or filter the key out if it means nothing.",
        "max by (application, join, side) (dovetail_application_stream_key_ratio) > 0.5 and "
        "on (application, join) dovetail_application_join_tasks > 1",
        (
            "Does the key mean nothing, such as 0 or an empty text? Filter it out.",
            "Otherwise cap rows per key, or accept that this task has most of the work.",
        ),
    ),
    Runbook(
        "rebuild_long",
        "ticket",
        10,
        "A join has been rebuilding its window for ten minutes.",
        "It finishes by itself, and then results come. If it repeats, look for lost hosts.",
        "dovetail_application_join_replaying == 1",
        (
            "Its page says how much is done, and how long the rest takes.",
            "If it keeps starting over, its process dies meanwhile: see its output, and `memory`.",
        ),
    ),
    Runbook(
        "log_short",
        "page",
        0,
        "The log has lost rows that the application has not read yet.",
        "Let the category keep rows longer. The application continues after the rows that are gone.",
        "dovetail_application_log_lost == 1",
        (
            "It was stopped for longer than the category keeps rows.",
            "`dovetail log retain CATEGORY` lets the category keep more from now on.",
            "If the rows exist elsewhere, append them again before you start the application.",
        ),
    ),
    Runbook(
        "daemon_silent",
        "page",
        1,
        "The service does not look at its applications.",
        "They keep running without it. `/readyz` says what is wrong; start it again.",
        "time() - dovetail_service_looked_seconds > 60 or absent(dovetail_service_looked_seconds)",
        (
            "Is the process there? If not, start it: it finds its applications again.",
            "`curl /readyz` says what is wrong: a home that is full, or cannot be reached.",
            "A dead daemon cannot ring: for this alarm use Prometheus, or poll `/readyz`.",
        ),
    ),
    Runbook(
        "scaler_at_limit",
        "ticket",
        10,
        "The scaler wants to add tasks, but cannot.",
        "Its reason says what the limit is: cores, a quota, buckets, or a key that cannot be split.",
        "dovetail_application_scaler_stuck == 1",
        (
            "A quota or the cores: raise the quota, or move the application to a larger host.",
            "Buckets: a join has at most as many tasks as buckets; more need a fresh join.",
            "More tasks did not help: the sink or one hot key is the limit. See `hot_key`.",
        ),
    ),
)


def to_markdown() -> str:
    """The reference page."""
    lines = [
        "# Alarms",
        "",
        "Written by `dovetail alarm rules --markdown`; do not edit by hand.",
        "[Run the service](../how-to/serve.md#alarms) says how they reach you.",
        "",
        "| alarm | severity | after | when | what to do first |",
        "|---|---|---|---|---|",
    ]
    for one in RUNBOOKS:
        after = (
            "at once" if not one.after_min else f"{one.after_min} minute{'s' if one.after_min > 1 else ''}"
        )
        link = f"[`{one.name}`](#{one.name})"
        lines.append(f"| {link} | {one.severity} | {after} | {one.sentence} | {one.action} |")
    for one in RUNBOOKS:
        lines += ["", f"## {one.name}", "", one.sentence, ""]
        lines += [f"{number}. {step}" for number, step in enumerate((one.action, *one.steps), 1)]
    return "\n".join(lines) + "\n"
