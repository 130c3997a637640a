"""A schema registry, by the interface that Confluent's has and others share.

A record begins with the number of its schema. The registry has the schemas by number, and gives a number to
a schema that is new under a subject, which is the topic's name with `-value`."""

from __future__ import annotations

import base64
import json
import struct
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dovetail.connectors.options import Option
from dovetail.errors import PlaceError, Unreachable

ANSWER_S = 10.0
MAGIC, HEAD = 0, struct.Struct(">BI")
SCHEMA_FORMATS = ("avro", "protobuf")
"""Formats whose records name a schema."""
PASSWORD = "schema_registry_password"
OPTIONS = (
    Option(
        "schema_registry", "text", "Address of the schema registry, for avro and protobuf.", password=PASSWORD
    ),
    Option("schema_registry_user", "text", "User name for the schema registry."),
    Option(PASSWORD, "secret", "Password for the schema registry.", secret=True),
)
NAMES = tuple(option.name for option in OPTIONS)
_CONTENT = "application/vnd.schemaregistry.v1+json"


class Schema(NamedTuple):
    """`kind`: AVRO, PROTOBUF or JSON. `others`: schemas of Avro whose types this one names, each behind those
    that it names itself."""

    kind: str
    text: str
    others: tuple[str, ...] = ()


class NoSchema(Exception):
    """The registry has no schema of this number."""


@dataclass(frozen=True)
class Registry:
    """`where` is for people. Schemas never change, so each is asked for once."""

    where: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    known: dict[int, Schema] = field(default_factory=dict, repr=False, compare=False)

    def schema(self, number: int) -> Schema:
        if number not in self.known:
            found = self.ask(f"schemas/ids/{number}")
            self.known[number] = self._with_others(found)
        return self.known[number]

    def newest(self, subject: str) -> Schema:
        """The newest schema of a subject."""
        return self._with_others(self.ask(f"subjects/{_in_path(subject)}/versions/latest"))

    def _with_others(self, found: Mapping[str, Any]) -> Schema:
        kind = found.get("schemaType", "AVRO")
        others: list[str] = []
        for one in found.get("references") or () if kind == "AVRO" else ():
            path = f"subjects/{_in_path(one['subject'])}/versions/{one['version']}"
            other = self._with_others(self.ask(path))
            others += [*other.others, other.text]
        return Schema(kind, found["schema"], tuple(others))

    def register(self, subject: str, schema: Schema) -> int:
        """Its number; a new one if the subject does not have it yet."""
        body = {"schema": schema.text} | ({"schemaType": schema.kind} if schema.kind != "AVRO" else {})
        path = f"subjects/{_in_path(subject)}/versions"
        try:
            return int(self.ask(path, body)["id"])
        except NoSchema as error:
            raise PlaceError(
                f"the schema registry does not accept the schema of this table: {error}",
                where=f"{subject} at {self.where}",
                expected="a schema that is compatible with those before it",
                hint="change the compatibility of the subject, or write to a topic of another name",
            ) from None

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        if not self.where.startswith(("http://", "https://")):
            raise PlaceError(
                "the schema registry has no address", where=self.where, expected='"http://host:port"'
            )
        request = urllib.request.Request(
            f"{self.where.rstrip('/')}/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": _CONTENT, "Accept": "*/*"},
        )
        if self.user is not None:
            given = base64.b64encode(f"{self.user}:{self.password or ''}".encode()).decode()
            request.add_header("Authorization", f"Basic {given}")
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:  # nosec B310
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            code, reason = _reason(error)
            # A 404 of its own says what is missing. Others say that no registry is at this address: then
            # nothing is known about the records, and none of them may count as unreadable.
            if error.code in (409, 422) or code // 100 == 404:
                raise NoSchema(reason) from None
            known = {401: "it refuses the user", 403: "it refuses the user", 404: "it is not at this address"}
            raise Unreachable(
                f"waiting for the schema registry: {known.get(error.code, f'answer {error.code}')}",
                where=self.where,
                hint="Apicurio's is below /apis/ccompat/v7" if error.code == 404 else None,
            ) from None
        except (OSError, ValueError) as error:
            said = str(getattr(error, "reason", error)) or type(error).__name__
            raise Unreachable(f"waiting for the schema registry: {said}", where=self.where) from None


def registry_of(given: Mapping[str, Any]) -> Registry | None:
    """By the options of a connector, with their secrets revealed."""
    where = given.get("schema_registry")
    if where is None:
        return None
    return Registry(where, given.get("schema_registry_user"), given.get(PASSWORD))


def _in_path(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")


def _reason(error: urllib.error.HTTPError) -> tuple[int, str]:
    """The registry's own code, which begins with that of HTTP, and its words."""
    try:
        said = json.load(error)
        return int(said["error_code"]), str(said["message"]).splitlines()[0][:200]
    except (ValueError, KeyError, TypeError, OSError, IndexError):
        return 0, f"answer {error.code}"
