"""The `dovetail` command: one table of commands, each imported only when it is called.

Law: `dovetail --help` imports neither pyspark, numba nor pyarrow; a command imports only what it uses. Every
failure ends in one message on stderr and an exit status: 1 for an error that the user can correct, 2 for a
wrong command line, 70 for a bug in Dovetail, 130 for Ctrl-C.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import dovetail
from dovetail.errors import DovetailError
from dovetail.service.checkout import find_checkout
from dovetail.service.settings import debugging

EXIT_ERROR, EXIT_INTERNAL, EXIT_INTERRUPTED = 1, 70, 130


@dataclass(frozen=True)
class Command:
    """A name, its line in the help, and where it is: `module:attribute`, a typer app or a function."""

    name: str
    help: str
    target: str
    package: str = "dovetail.service.cli"

    def load(self) -> Any:
        module, attribute = self.target.split(":")
        target = getattr(import_module(f"{self.package}.{module}"), attribute)
        if not isinstance(target, typer.Typer):
            app = typer.Typer(add_completion=False)
            app.command(self.name)(target)
            target = app
        command = typer.main.get_command(target)
        command.name = self.name
        return command


def _commands() -> dict[str, Command]:
    """The table. In a checkout it ends with the commands for developers, which a wheel does not have."""
    table = [
        Command("demo", "Join two live streams of search events for a minute, and watch.", "demo:app"),
        Command("run", "Run a PQL application.", "run:run"),
        Command("status", "List applications, or show how one is doing.", "status:status"),
        Command("show", "Print result rows of an application.", "show:show"),
        Command("why", "Explain what happened to the rows with a key.", "why:why"),
        Command("diff", "Show what another query would do to an application.", "changes:diff"),
        Command("preview", "Show which rows another query would have produced.", "preview:preview"),
        Command("deploy", "Change the query of an application, or try one beside it.", "shadow:deploy"),
        Command("shadow", "Show, promote or drop a query that is being tried.", "shadow:shadow"),
        Command("advise", "Show advice for an application, or apply it.", "advise:advise"),
        Command("versions", "List the versions of an application.", "changes:versions"),
        Command("rollback", "Go back to an earlier query of an application.", "changes:rollback"),
        Command("scale", "Show or change the number of tasks, even while it runs.", "scale:scale"),
        Command("serve", "Keep applications running, with a portal and an API.", "serve:serve"),
        Command("service", "Apply, start, stop and delete the applications of the service.", "service:app"),
        Command("backup", "Copy a home with everything in it.", "backup:backup"),
        Command("restore", "Make a home from a copy.", "backup:restore"),
        Command("alarm", "List alarms, set where they are sent, and mute them.", "alarm:app"),
        Command("user", "Add, list and remove users of the service.", "access:user"),
        Command("access", "Grant roles, and set what queries may reach.", "access:access"),
        Command("token", "Make, list and drop tokens for the API.", "serve:token"),
        Command("check", "Find the mistakes in a PQL file without running it.", "check_plan:check"),
        Command("plan", "Show how a PQL file will be run.", "check_plan:plan"),
        Command("log", "List, read, append to and follow categories of the log.", "log:app"),
        Command("simulate", "Simulate sliding-window joins on up to 1,024 cores.", "simulate:simulate"),
        Command("torture", "Kill and restart joins, and compare their output.", "torture:torture"),
        Command("settings", "Print every setting with its variable and default.", "settings:settings"),
        Command("prepare", "Compile ahead, so that later starts are faster.", "prepare:prepare"),
        Command("version", "Print the version.", "settings:version"),
    ]
    checkout = find_checkout()
    if checkout is not None:
        developers = str(checkout / "dev")
        if developers not in sys.path:
            sys.path.append(developers)
        table += [
            Command("test", "Run the project's own tests, by tier.", "test_command:app", "dovetail_dev"),
            Command(
                "bench", "Run a benchmark. Without a name, list them.", "bench_command:app", "dovetail_dev"
            ),
        ]
    return {command.name: command for command in table}


COMMANDS = _commands()

EXAMPLES = "\n\n".join(
    f"[bold]{line[:39]}[/bold][dim]{line[39:]}[/dim]"
    for line in (
        "dovetail demo                          two streams, one minute, a live view",
        "dovetail log append left rows.parquet  append a file to a category",
        "dovetail plan app.pql                  show the operators of a query",
        "dovetail run app.pql --drain           join all input, then stop",
        "dovetail why clicks --key 3            explain what happened to a row",
        "dovetail bench interval                compare with Spark's own join",
    )
)


class LazyGroup(TyperGroup):
    """Help comes from the table. A command is imported when it is called, or when a shell completes it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, stub, rest = super().resolve_command(ctx, args)
        return name, COMMANDS[stub.name].load() if stub is not None and stub.name else stub, rest


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"dovetail {dovetail.__version__}")
        raise typer.Exit


def build() -> Any:
    """The root command, with a stub for each row of the table."""
    app = typer.Typer(
        name="dovetail",
        cls=LazyGroup,
        help="Streaming joins as a service, on Apache Spark.",
        epilog=EXAMPLES,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for command in COMMANDS.values():
        app.command(command.name, help=command.help)(_stub)
    app.callback()(_root)
    return typer.main.get_command(app)


def _stub() -> None:
    """Takes the place of a command until it is called."""


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Options of `dovetail` itself."""


def main(argv: Sequence[str] | None = None) -> None:
    """The console script: run one command and exit with its status."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    try:
        build()(args=arguments, prog_name="dovetail")
    except DovetailError as error:
        _report(error.to_json(), f"error: {error}", "--json" in arguments)
        sys.exit(EXIT_ERROR)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        fields = {"condition": "INTERNAL_ERROR", "what": what, "where": None, "expected": None}
        hint = "set DOVETAIL_DEBUG=1 to see the traceback"
        line = f"internal error: {what}" + ("" if debugging() else f"\n  hint:     {hint}")
        _report({"error": {**fields, "hint": hint}}, line, "--json" in arguments)
        sys.exit(EXIT_INTERNAL)


def _report(as_json: Any, text: str, wants_json: bool) -> None:
    """One block on stderr, red up to its first colon; or JSON on stdout for programs."""
    if debugging():
        traceback.print_exc()
    if wants_json:
        print(json.dumps(as_json))
        return
    from rich.console import Console
    from rich.text import Text

    label, _, rest = text.partition(":")
    message = Text(f"{label}:", style="bold red").append(rest, style="not bold red")
    Console(stderr=True).print(message, soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main()
