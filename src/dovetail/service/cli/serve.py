"""`dovetail serve`: the service of a home, with its API and its portal; `dovetail token` for its API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dovetail.service.cli.arguments import AsJson, Home, home_at

PORT = 8630
LOOPBACK = "127.0.0.1"
LOOPBACKS = (LOOPBACK, "localhost", "::1")


def serve(
    *,
    home: Home = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = PORT,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. Any but loopback needs users, and TLS or a proxy."),
    ] = LOOPBACK,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A host name of the service, with TLS; repeat it for several."),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="TLS certificate, a PEM file.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Key of the certificate, a PEM file.")] = None,
    proxy: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Address of the proxy in front of the service: https://example.org"),
    ] = None,
    link: Annotated[
        bool, typer.Option("--link", help="Print a new login link for the running service, and exit.")
    ] = False,
) -> None:
    """Keep the applications of a home running, with a portal in the browser and an API. Applications keep
    running when the service ends; the next service finds them."""
    from dovetail.service.server.ledger import ServiceLedger, ledger_path
    from dovetail.service.server.listening import Listening, require_safe

    place = home_at(home)
    wanted = Listening(host, port, tuple(name or ()), tls_cert, tls_key, proxy)
    require_safe(wanted, place)
    if link:
        secret = ServiceLedger(ledger_path(place)).new_link()
        typer.echo(f"{wanted.address(port)}/login?link={secret}")
        return
    from dovetail.service.server.running import serve_home

    serve_home(place, wanted, typer.echo)


token = typer.Typer(
    help="Make, list and drop tokens for the API.", no_args_is_help=True, add_completion=False
)


@token.command("new")
def new_token(
    name: Annotated[str, typer.Argument(help="Who will use it; shown in the event log.")],
    *,
    role: Annotated[str, typer.Option(help="viewer, author, deployer or admin.")] = "viewer",
    days: Annotated[float, typer.Option(min=0.001, help="Days until it expires.")] = 90,
    application: Annotated[
        list[str] | None,
        typer.Option(help="Limit it to an application, or a pattern such as ads_*; repeat it for several."),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Owner. The token is limited to this user's permissions.")
    ] = None,
    home: Home = None,
) -> None:
    """Make a token and print it. It is shown only once and not stored."""
    from typing import cast

    from dovetail.service.access.people import known_user, read_access
    from dovetail.service.access.roles import Role
    from dovetail.service.access.tokens import new_token
    from dovetail.service.cli.me import audit_mine

    place, scope = home_at(home), tuple(application or ("*",))
    if user is not None:
        known_user(read_access(place), user)
    made = new_token(place, name, cast(Role, role), days, scope, user)
    audit_mine(place, f"token {made.partition('.')[0]} for {name}: {role} of {', '.join(scope)}")
    typer.echo(made)


@token.command("list")
def list_tokens(home: Home = None, as_json: AsJson = False) -> None:
    """List the tokens of a home."""
    from dataclasses import asdict

    from dovetail.service.access.tokens import list_tokens
    from dovetail.service.cli.log_output import print_json
    from dovetail.service.units import instant

    found = list_tokens(home_at(home))
    if as_json:
        print_json([{name: said for name, said in asdict(one).items() if name != "hash"} for one in found])
        return
    for one in found:
        whose = f" of {one.user}" if one.user else ""
        scope = "" if one.scope == ("*",) else f"  for {', '.join(one.scope)}"
        typer.echo(f"{one.id}  {one.role:<8}  until {instant(one.ends_us)} UTC  {one.name}{whose}{scope}")


@token.command("drop")
def drop_token(
    number: Annotated[str, typer.Argument(metavar="ID", help="The token's id.")], home: Home = None
) -> None:
    """Revoke a token."""
    from dovetail.service.access.tokens import drop_token
    from dovetail.service.cli.me import audit_mine

    place = home_at(home)
    dropped = drop_token(place, number)
    audit_mine(place, f"token {number} for {dropped.name} dropped")
