"""`dovetail alarm`: which alarms ring, where they are sent, and which are muted."""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail.service.cli.arguments import AsJson, Home, home_at

app = typer.Typer(
    help="List alarms, set where they are sent, and mute them.", no_args_is_help=True, add_completion=False
)


@app.command("list")
def list_alarms(home: Home = None, as_json: AsJson = False) -> None:
    """Show the alarms that ring, the targets, and what is muted."""
    from dataclasses import asdict

    from dovetail.service.alarms.bell import Bell
    from dovetail.service.alarms.settings import read_settings
    from dovetail.service.cli.log_output import print_json
    from dovetail.service.units import instant

    place = home_at(home)
    ringing, settings = Bell(place).ringing, read_settings(place)
    if as_json:
        print_json({"ringing": [asdict(one) for one in ringing], **asdict(settings)})
        return
    for one in ringing:
        typer.echo(f"{one.severity}  {one.application}  {one.name}  since {instant(one.since_us)} UTC")
        typer.echo(f"  {one.words}")
    if not ringing:
        typer.echo("no alarm rings")
    for target in settings.targets:
        typer.echo(f"to {target.channel} {target.address}")
    for muted in settings.mutes:
        typer.echo(f"muted: {muted.application} {muted.name} until {instant(muted.until_us)} UTC")


@app.command("to")
def add_target(
    channel: Annotated[str, typer.Argument(help="webhook, slack, alertmanager or email.")],
    address: Annotated[str, typer.Argument(help="A URL. For e-mail: smtp://HOST:PORT?from=A&to=B.")],
    *,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the target.")] = False,
    home: Home = None,
) -> None:
    """Send alarms to a target."""
    from dovetail.service.alarms.settings import add_target, drop_target

    if drop:
        drop_target(home_at(home), address)
    else:
        add_target(home_at(home), channel, address)


@app.command("mute")
def mute_alarm(
    application: Annotated[str, typer.Argument(metavar="APP", help="An application, or * for all.")],
    name: Annotated[str, typer.Argument(metavar="[ALARM]", help="The alarm. Default: all.")] = "*",
    *,
    hours: Annotated[float, typer.Option(min=0, help="Mute for this many hours; 0 unmutes.")] = 8,
    home: Home = None,
) -> None:
    """Mute alarms for some hours."""
    from dovetail.service.alarms.settings import mute

    mute(home_at(home), application, name, hours)


@app.command("set")
def change_alarm(
    application: Annotated[str, typer.Argument(metavar="APP", help="An application, or * for all.")],
    name: Annotated[str, typer.Argument(metavar="ALARM", help="The alarm.")],
    *,
    after: Annotated[
        str | None, typer.Option(help="How long the condition must hold before alerting: '30 minutes'.")
    ] = None,
    severity: Annotated[str | None, typer.Option(help="page or ticket.")] = None,
    home: Home = None,
) -> None:
    """Change when an alarm rings. Without options, reset it to the default."""
    from typing import cast, get_args

    from dovetail.errors import SettingError
    from dovetail.service.alarms.runbooks import Severity
    from dovetail.service.alarms.settings import RuleChange, change
    from dovetail.service.cli.preview import length_us

    if severity not in (None, *get_args(Severity)):
        raise SettingError(f"there is no severity {severity}", expected="page or ticket")
    wanted = RuleChange(application, name, length_us(after), cast("Severity | None", severity))
    change(home_at(home), wanted)


@app.command()
def rules(
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page.")] = False,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="Print rules for Prometheus.")] = False,
    grafana: Annotated[bool, typer.Option("--grafana", help="Print a dashboard for Grafana.")] = False,
) -> None:
    """Show every alarm: when it rings, and what to do first."""
    from dovetail.service.alarms.monitoring import grafana_dashboard, prometheus_rules
    from dovetail.service.alarms.runbooks import RUNBOOKS, to_markdown

    for asked, made in (
        (markdown, to_markdown),
        (prometheus, prometheus_rules),
        (grafana, grafana_dashboard),
    ):
        if asked:
            typer.echo(made(), nl=False)
            return
    for one in RUNBOOKS:
        typer.echo(f"{one.name} ({one.severity})\n  {one.sentence}\n  {one.action}")
