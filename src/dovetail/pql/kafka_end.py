"""`KAFKA("topic", brokers = "...", format = "...", ...)` after FROM, and settings of a Kafka client."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlglot.tokenizer_core import TokenType

from dovetail.connectors import schema_registry
from dovetail.connectors.kafka_client import MAYBE_SECRETS, SECRETS, TOPIC_NAMES, is_topic
from dovetail.connectors.options import Option
from dovetail.connectors.secret import Secret
from dovetail.plan.kafka_options import BY_REGISTRY, CHOICES, FIELDS, FORMATS, KNOWN, is_offsets
from dovetail.plan.nearest import did_you_mean
from dovetail.plan.physical import KafkaSource
from dovetail.plan.source import Span
from dovetail.plan.statements import ColumnDef
from dovetail.pql.secrets import refuse_password, secret_value
from dovetail.pql.tokens import Cursor, span

_REGISTRY = {option.name: option for option in schema_registry.OPTIONS}
_STARTS = '"earliest" | "latest" | TIMESTAMP \'2026-01-31 12:00:00\' | "0:100, 1:250" (offsets by partition)'


def parse_kafka(cursor: Cursor, columns: Sequence[ColumnDef]) -> KafkaSource:
    """What follows KAFKA. `columns` are those that the table declares; without any they are the fields of the
    topic's schema, or those of its first records."""
    at_kafka = cursor.at - 1
    cursor.expect("(")
    topic, place = cursor.string(
        'a topic, as in KAFKA("clicks", brokers = "localhost:9092", format = "json")'
    )
    if not is_topic(topic):
        raise cursor.error_at(place, f"`{topic[:60]}` cannot name a topic", expected=TOPIC_NAMES)
    options: dict[str, str | Secret] = {}
    while cursor.accept(","):
        name, at = cursor.name("the name of an option, such as brokers")
        name = name.lower()
        if name not in KNOWN or name in options:
            raise cursor.error_at(
                at,
                f"`{name}` is given twice" if name in KNOWN else f"KAFKA takes no option `{name}`",
                expected=None if name in KNOWN else ", ".join(KNOWN),
                hint=None if name in KNOWN else did_you_mean(name, KNOWN, listed=True),
            )
        cursor.expect("=")
        if name == "start":
            options[name] = _start(cursor)
        else:
            options[name] = _secret(cursor, name) or _value(cursor, name, columns)
    for needed, example in (("brokers", '"localhost:9092"'), ("format", '"json"')):
        if needed not in options:
            raise cursor.error(f"KAFKA needs its {needed}", expected=f"{needed} = {example}")
    needs_registry = options["format"] in BY_REGISTRY
    if needs_registry != ("schema_registry" in options):
        raise cursor.error(
            f"format {options['format']} "
            + ("needs a schema registry" if needs_registry else "knows no schema registry"),
            expected='schema_registry = "http://localhost:8081"' if needs_registry else None,
            hint=None if needs_registry else f"formats with one: {', '.join(BY_REGISTRY)}",
        )
    cursor.expect(")")
    if not columns and options["format"] == "raw":
        cursor.at = at_kafka
        raise cursor.error(
            "raw records do not say what columns they have",
            expected="CREATE INPUT TABLE name (column type, ...) FROM KAFKA(...)",
            hint="declare the column of the value: STRING or BINARY",
        )
    brokers, format_ = str(options.pop("brokers")), str(options.pop("format"))
    source = KafkaSource(topic, brokers, format_, tuple(options.items()))
    _check_columns(cursor, source, columns)
    return source


def _secret(cursor: Cursor, name: str) -> Secret | None:
    hidden = name in SECRETS
    maybe = hidden or name in MAYBE_SECRETS
    option = _REGISTRY.get(name, Option(name, "secret" if hidden else "text", "", secret=maybe))
    start, tokens = cursor.at, cursor.argument()
    if not tokens:
        return None
    place = span(tokens[0], tokens[-1])
    found = secret_value(cursor, option, tokens, place)
    refuse_password(cursor, option, tokens[0].text, place)
    if found is None:
        cursor.at = start
    return found


def _value(cursor: Cursor, name: str, columns: Sequence[ColumnDef]) -> str:
    token = cursor.token
    scalars = (TokenType.STRING, TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE)
    if token is None or token.token_type not in scalars:
        raise cursor.unexpected(f'a value for {name}, such as {name} = ".."', "put it in quotes")
    value, place = token.text, span(token)
    cursor.at += 1
    if name in CHOICES and value.lower() not in CHOICES[name]:
        raise cursor.error_at(
            place,
            f"{name} cannot be `{value[:40]}`",
            expected=" | ".join(f'"{choice}"' for choice in CHOICES[name]),
            hint=did_you_mean(value[:40], CHOICES[name], listed=True),
        )
    if name in FIELDS:
        _check_field(cursor, name, value, place, columns)
    if name == "max_records_per_second" and not (value.isdecimal() and int(value) > 0):
        raise cursor.error_at(place, f"{name} is out of range", expected="a whole number from 1 on")
    if name == "sep" and (len(value) != 1 or not value.isascii()):
        raise cursor.error_at(place, "sep is not one character", expected='sep = ";"')
    if name == "brokers" and not value.strip():
        raise cursor.error_at(place, "brokers is empty", expected='"host:port" or several with commas')
    return value.lower() if name in CHOICES or token.token_type is not TokenType.STRING else value


def _check_field(cursor: Cursor, name: str, value: str, place: Span, columns: Sequence[ColumnDef]) -> None:
    if not columns:
        return  # it is added to those of the value
    column = next((one for one in columns if one.name.lower() == value.lower()), None)
    if column is None:
        raise cursor.error_at(
            place,
            f"the table has no column `{value[:60]}` for the record's {name}",
            expected=", ".join(one.name for one in columns),
            hint=did_you_mean(value[:60], [one.name for one in columns], listed=True),
        )
    if column.type is None or column.type.upper() not in FIELDS[name]:
        raise cursor.error_at(
            place,
            f"column {column.name} cannot hold the record's {name}",
            expected=f"a column declared as {' or '.join(FIELDS[name])}",
        )


def _start(cursor: Cursor) -> str:
    """A start as it stands in the plan: a word, offsets, or a time in ISO form."""
    stamped = cursor.accept("TIMESTAMP")
    text, place = cursor.string(_STARTS)
    if not stamped and (text.lower() in ("earliest", "latest") or is_offsets(text)):
        return text.lower()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise cursor.error_at(place, f"`{text[:40]}` is not a place to start", expected=_STARTS) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _check_columns(cursor: Cursor, source: KafkaSource, columns: Sequence[ColumnDef]) -> None:
    """A raw value is one column."""
    fields = {str(value).lower() for name, value in source.options if name in FIELDS}
    values = [column for column in columns if column.name.lower() not in fields]
    if source.format != "raw":
        return
    if len(values) == 1 and (values[0].type or "").upper() in ("STRING", "BINARY"):
        return
    where = values[1].span if len(values) > 1 else None if not values else values[0].span
    raise cursor.error_at(
        where or Span(cursor.end, cursor.end + 1),
        f"format raw has one column for the value, and the table has {len(values)}"
        if len(values) != 1
        else f"column {values[0].name} cannot hold a raw value",
        expected="one STRING or BINARY column beside key, headers, partition, offset and timestamp",
        hint=f"formats with several columns: {', '.join(one for one in FORMATS if one != 'raw')}",
    )
