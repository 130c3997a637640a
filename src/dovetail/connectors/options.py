"""What a source or a sink takes, as a table: names, types, defaults. The parser, `dovetail check`, rendering
and the reference page read it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from dovetail.connectors.secret import Secret

ValueKind = Literal[
    "text", "choice", "category", "whole", "flag", "interval", "columns", "expression", "secret"
]
"""`category`: the name of one in the log; `interval`: in microseconds; `columns`: of the table, one or
several; `expression`: over the table's columns; `secret`: nothing but SECRET("name")."""
Value = str | int | bool | tuple[str, ...] | Secret
MOST = 10**18


@dataclass(frozen=True)
class Option:
    """One row of a connector's table. `secret`: its value may be SECRET("name"). `password`: the option for
    the password that this one, an address, must not have in it."""

    name: str
    kind: ValueKind
    sentence: str
    default: Value | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    most: int = MOST
    secret: bool = False
    password: str = ""

    @property
    def expected(self) -> str:
        match self.kind:
            case "choice":
                return " | ".join(f'"{choice}"' for choice in self.choices)
            case "whole":
                return f"a whole number from 1 to {self.most}"
            case "flag":
                return "true | false"
            case "interval":
                return "an interval above zero, such as INTERVAL '7 days'"
            case "columns":
                return f"a column, or several in brackets: {self.name} = (a, b)"
            case "expression":
                return "an expression over the table's columns"
            case "secret":
                return f'{self.name} = SECRET("...")'
        return f'{self.name} = "..."' + (f' | {self.name} = SECRET("...")' if self.secret else "")


PARTITIONED = Option(
    "partitioned_by", "columns", "A folder for each value of these columns: `PARTITIONED BY (a, b)`."
)


EVERY = Option("every", "interval", "Write at most this often: fewer and larger batches.")
MERGE_EVERY = Option("merge_every", "whole", "Merge small files after this many batches. Default: never.")


def with_defaults(table: Iterable[Option], given: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Every option of a table: as given, or its default."""
    return {option.name: option.default for option in table} | dict(given)
