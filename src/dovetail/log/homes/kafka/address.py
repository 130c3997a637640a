"""Where a home on Kafka is: `kafka://broker:9092,broker:9092/prefix?security.protocol=SSL`.

The names of the home's topics begin with the prefix. After `?` come settings of the client, under their own
names. Settings that must not be visible in a command line are in the file that DOVETAIL_KAFKA_CONFIG names,
one `setting=value` per line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from dovetail.errors import HomeError

VARIABLE = "DOVETAIL_KAFKA_CONFIG"
LONGEST_TOPIC = 249
_TOPIC = re.compile(r"[A-Za-z0-9._-]+")
_OURS = re.compile(
    r"(bootstrap\.servers|metadata\.broker\.list|group\..*|transactional\..*|auto\.offset\.reset|acks"
    r"|enable\.(idempotence|auto\..*|partition\.eof)|isolation\.level|message\.max\.bytes|.*_cb|logger)"
)
"""Settings that guarantee that nothing is lost: users must not change them."""


@dataclass(frozen=True)
class Address:
    """`settings` may hold secrets."""

    brokers: str
    prefix: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def topic(self, name: str) -> str:
        topic = f"{self.prefix}.{name}"
        if len(topic) > LONGEST_TOPIC:
            raise HomeError(
                f"the name of a topic of the home is too long: {topic}",
                where=f"kafka://{self.brokers}/{self.prefix}",
                expected=f"at most {LONGEST_TOPIC} characters with the home's prefix",
                hint="choose a shorter prefix for the home, or a shorter name for the category",
            )
        return topic


def address_of(home: str, environment: Mapping[str, str] = os.environ) -> Address:
    parts = urlsplit(home)
    prefix = unquote(parts.path).strip("/").replace("/", ".")
    if not parts.netloc or "@" in parts.netloc or not _TOPIC.fullmatch(prefix):
        raise HomeError(
            "the home is not an address on Kafka",
            where=f"kafka://{parts.netloc.rpartition('@')[2]}{parts.path}",
            expected="kafka://broker:9092/prefix, with several brokers separated by commas and a prefix of "
            "letters, digits, `.`, `_` and `-`",
            hint=f"users and passwords are settings of the client: put them into a file and name it in "
            f"{VARIABLE}",
        )
    settings = _from_file(environment.get(VARIABLE)) | dict(parse_qsl(parts.query))
    for name in settings:
        if _OURS.fullmatch(name):
            raise HomeError(
                f"{name} cannot be set in the address of a home",
                where=f"kafka://{parts.netloc}{parts.path}",
                expected="settings of the client that say how brokers are reached",
                hint="leave it out",
            )
    return Address(parts.netloc, prefix, settings)


def _from_file(path: str | None) -> dict[str, str]:
    if not path:
        return {}
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise HomeError(
            f"the settings of the Kafka client cannot be read: {error}",
            where=path,
            hint=f"{VARIABLE} names a text file with one `setting=value` per line",
        ) from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise HomeError(
                f"line {number} is not a setting",  # not the line itself: it may be a secret
                where=path,
                expected="setting=value",
            )
        found[name.strip()] = value.strip()
    return found
