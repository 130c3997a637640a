"""`dovetail serve`: the service of a home, with its API and its portal; `dovetail token` for its API."""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail.errors import SettingError
from dovetail.service.cli.arguments import AsJson, Home, home_at

PORT = 8630
LOOPBACK = "127.0.0.1"


def serve(
    *,
    home: Home = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")
    ] = PORT,
    host: Annotated[str, typer.Option(help="Address to listen on. Only loopback is allowed.")] = LOOPBACK,
    link: Annotated[
        bool, typer.Option("--link", help="Print a new link to log in to the service that runs, and end.")
    ] = False,
) -> None:
    """Keep the applications of a home running, with a portal in the browser and an API. Applications go on
    when the service ends; the next one finds them."""
    from dovetail.service.server.ledger import Ledger, ledger_path

    place = home_at(home)
    if host not in (LOOPBACK, "localhost", "::1"):
        raise SettingError(
            f"the service does not listen on {host}",
            where="--host",
            expected="127.0.0.1, localhost or ::1",
            hint="there are no users yet: let an SSH tunnel or a proxy with its own log-in reach loopback",
        )
    if link:
        typer.echo(f"http://{LOOPBACK}:{port}/login?link={Ledger(ledger_path(place)).new_link()}")
        return
    from dovetail.service.server.running import serve_home

    serve_home(place, host, port, typer.echo)


token = typer.Typer(
    help="Make, list and drop tokens for the API.", no_args_is_help=True, add_completion=False
)


@token.command("new")
def new_token(
    name: Annotated[str, typer.Argument(help="Who will use it; it stands in the events.")],
    *,
    role: Annotated[str, typer.Option(help="viewer, author, deployer or admin.")] = "viewer",
    days: Annotated[float, typer.Option(min=0.001, help="Days until it ends.")] = 90,
    home: Home = None,
) -> None:
    """Make a token and print it. It is shown this once, and kept nowhere."""
    from typing import cast

    from dovetail.service.server.access import Role, new_token

    typer.echo(new_token(home_at(home), name, cast(Role, role), days))


@token.command("list")
def list_tokens(home: Home = None, as_json: AsJson = False) -> None:
    """List the tokens of a home."""
    from dovetail.service.cli.log_output import print_json
    from dovetail.service.server.access import list_tokens
    from dovetail.service.units import instant

    found = list_tokens(home_at(home))
    if as_json:
        print_json([{"id": t.id, "name": t.name, "role": t.role, "ends_us": t.ends_us} for t in found])
        return
    for one in found:
        typer.echo(f"{one.id}  {one.role:<8}  until {instant(one.ends_us)} UTC  {one.name}")


@token.command("drop")
def drop_token(
    number: Annotated[str, typer.Argument(metavar="ID", help="The token's id.")], home: Home = None
) -> None:
    """Drop a token: it opens nothing from now on."""
    from dovetail.service.server.access import drop_token

    drop_token(home_at(home), number)
