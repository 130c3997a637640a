"""`dovetail user` and `dovetail access`: who may use the service, and what their queries may reach. They
change documents in the home; a service that runs goes by them with the next request."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dovetail.service.cli.arguments import AsJson, Home, home_at

user = typer.Typer(
    help="Add, list and remove users of the service.", no_args_is_help=True, add_completion=False
)
access = typer.Typer(
    help="Grant roles, and set what queries may reach.", no_args_is_help=True, add_completion=False
)
UserName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the user.")]
Who = Annotated[str, typer.Argument(metavar="WHO", help="A user, or @group.")]
RoleName = Annotated[
    str, typer.Argument(metavar="ROLE", help="viewer, author, deployer, admin, or functions.")
]
Applications = Annotated[
    str, typer.Argument(metavar="[APP]", help="An application, a pattern such as ads_*, or * for all.")
]
Stdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input, not the terminal.")
]


@user.command("add")
def add_user(
    name: UserName,
    *,
    admin: Annotated[bool, typer.Option("--admin", help="Grant the role admin for everything.")] = False,
    group: Annotated[list[str] | None, typer.Option(help="A group; repeat it for several.")] = None,
    oidc: Annotated[
        bool, typer.Option("--oidc", help="The user logs in through the identity provider.")
    ] = False,
    no_password: Annotated[
        bool,
        typer.Option(
            "--no-password", help="For programs: cannot log in, but may own applications and tokens."
        ),
    ] = False,
    password_stdin: Stdin = False,
    home: Home = None,
) -> None:
    """Add a user. The first one must be an admin."""
    from dovetail.errors import StateError
    from dovetail.service.access.passwords import hashed
    from dovetail.service.access.people import Access, User, change, grant, read_access
    from dovetail.service.access.people import add_user as added
    from dovetail.service.cli.me import audit_mine

    place = home_at(home)
    if not admin and not read_access(place).users:
        raise StateError("the first user must be an admin", hint=f"dovetail user add {name} --admin")
    password = None if oidc or no_password else hashed(asked_password(password_stdin))
    made = User(name, password, oidc, tuple(group or ()))

    def wanted(before: Access) -> Access:
        after = added(before, made)
        return grant(after, name, "admin") if admin else after

    change(place, wanted)
    audit_mine(place, f"user {name} added{' as admin' if admin else ''}")


@user.command("password")
def set_password(name: UserName, *, password_stdin: Stdin = False, home: Home = None) -> None:
    """Set a user's password. Sessions of this user end."""
    from dovetail.service.access.passwords import hashed
    from dovetail.service.access.people import change, change_user, known_user, read_access
    from dovetail.service.cli.me import audit_mine
    from dovetail.service.server.ledger import ServiceLedger, ledger_path

    place = home_at(home)
    known_user(read_access(place), name)
    password = hashed(asked_password(password_stdin))
    change(place, lambda before: change_user(before, name, password=password))
    ServiceLedger(ledger_path(place)).end_sessions(name)
    audit_mine(place, f"password of {name} set")


@user.command("change")
def change_user(
    name: UserName,
    *,
    group: Annotated[
        list[str] | None, typer.Option(help="Replace the groups with these; repeat it for several.")
    ] = None,
    active: Annotated[bool | None, typer.Option("--active/--out", help="Unblock or block the user.")] = None,
    home: Home = None,
) -> None:
    """Change the groups of a user, or block a user."""
    from dovetail.service.access.people import change
    from dovetail.service.access.people import change_user as changed
    from dovetail.service.cli.me import audit_mine

    wanted: dict[str, object] = {} if group is None else {"groups": tuple(group)}
    wanted |= {} if active is None else {"active": active}
    place = home_at(home)
    change(place, lambda before: changed(before, name, **wanted))
    audit_mine(place, f"user {name} changed: {', '.join(f'{key} {said}' for key, said in wanted.items())}")


@user.command("remove")
def remove_user(name: UserName, home: Home = None) -> None:
    """Remove a user and their grants. Their applications stay."""
    from dovetail.service.access.people import change
    from dovetail.service.access.people import remove_user as removed
    from dovetail.service.cli.me import audit_mine

    place = home_at(home)
    change(place, lambda before: removed(before, name))
    audit_mine(place, f"user {name} removed")


@user.command("list")
def list_users(home: Home = None, as_json: AsJson = False) -> None:
    """List users, with their groups, roles and reach."""
    show(home, as_json)


@access.command("list")
def show(home: Home = None, as_json: AsJson = False) -> None:
    """List users, groups, roles and reaches."""
    from dovetail.service.access.people import read_access, shown
    from dovetail.service.cli.log_output import print_json

    found = read_access(home_at(home))
    if as_json:
        print_json(shown(found))
        return
    for one in found.users:
        kind = "" if one.active else "  (out)"
        kind += "  (identity provider)" if one.oidc else "" if one.password else "  (no password)"
        typer.echo(f"{one.name}{kind}  {' '.join(f'@{group}' for group in one.groups)}".rstrip())
    for grant in found.grants:
        typer.echo(f"{grant.who} is {grant.role} of {grant.application}")
    for reach in found.reaches:
        typer.echo(f"{reach.who} reads {', '.join(reach.read) or 'nothing'}")
        typer.echo(f"{reach.who} writes {', '.join(reach.write) or 'nothing'}")


@access.command("grant")
def grant_role(who: Who, role: RoleName, application: Applications = "*", home: Home = None) -> None:
    """Grant a role."""
    from dovetail.service.access.people import change, grant
    from dovetail.service.cli.me import audit_mine

    place = home_at(home)
    change(place, lambda before: grant(before, who, role, application))
    audit_mine(place, f"{who} granted {role} of {application}")


@access.command("revoke")
def revoke_role(who: Who, role: RoleName, application: Applications = "*", home: Home = None) -> None:
    """Revoke a role."""
    from dovetail.service.access.people import change, revoke
    from dovetail.service.cli.me import audit_mine

    place = home_at(home)
    change(place, lambda before: revoke(before, who, role, application))
    audit_mine(place, f"{role} of {application} revoked from {who}")


@access.command("reach")
def set_reach(
    who: Who,
    *,
    read: Annotated[
        list[str] | None, typer.Option(help="A place that queries may read: log:NAME, a path, s3://...")
    ] = None,
    write: Annotated[list[str] | None, typer.Option(help="A place that they may read and write.")] = None,
    home: Home = None,
) -> None:
    """Set what queries of a user or a group may reach. Replaces the previous setting."""
    from dovetail.service.access.people import change
    from dovetail.service.access.people import set_reach as reaching
    from dovetail.service.cli.me import audit_mine

    place = home_at(home)
    change(place, lambda before: reaching(before, who, read or (), write or ()))
    audit_mine(place, f"{who} reads {', '.join(read or ())}; writes {', '.join(write or ())}")


@access.command("oidc")
def set_provider(
    issuer: Annotated[str, typer.Argument(metavar="[ISSUER]", help="Address of the provider.")] = "",
    client: Annotated[
        str, typer.Argument(metavar="[CLIENT]", help="Client id of this service at the provider.")
    ] = "",
    *,
    secret: Annotated[str, typer.Option(help="Name of the secret; see SECRET in PQL.")] = "",
    claim: Annotated[str, typer.Option(help="Claim with the user name.")] = "preferred_username",
    groups: Annotated[str, typer.Option(help="Claim with the list of groups.")] = "groups",
    drop: Annotated[bool, typer.Option("--drop", help="Let nobody log in through it any more.")] = False,
    home: Home = None,
) -> None:
    """Let people log in through an identity provider (OpenID Connect)."""
    from dovetail.errors import SettingError
    from dovetail.service.access.oidc import Provider, write_provider
    from dovetail.service.cli.me import audit_mine

    if not drop and not (issuer and client):
        raise SettingError(
            "an identity provider needs an address and a client id", expected="ISSUER CLIENT, or --drop"
        )
    place = home_at(home)
    write_provider(place, None if drop else Provider(issuer, client, secret, claim, groups))
    audit_mine(place, "identity provider dropped" if drop else f"identity provider {issuer}")


@access.command("audit")
def show_audit(
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="Show the newest N.")] = 20,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show who changed what, and who tried to."""
    from dovetail.service.access.audit import audited
    from dovetail.service.cli.log_output import plain, print_json

    found = audited(home_at(home), limit)
    if as_json:
        print_json([plain(row) for row in found])
        return
    for row in reversed(found):
        when = row["eventtime"].strftime("%Y-%m-%d %H:%M:%S")
        where = f" from {row['address']}" if row["address"] else ""
        typer.echo(f"{when}  {row['by']} ({row['way']}{where})  {row['deed']}: {row['outcome']}")


def asked_password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    found: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    return found
