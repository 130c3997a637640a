"""`SECRET("name")`: a value that is not written down.

Law: a plan, a version, a log and an error have the name of a secret, never its value. It is read when a
connector is opened: from the environment variable of its name, or from the file of its name in the folder
DOVETAIL_SECRETS, which is /run/secrets if nobody says otherwise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail.errors import SettingError

FOLDER, DEFAULT_FOLDER = "DOVETAIL_SECRETS", "/run/secrets"
HIDDEN = "***"
_PASSWORD = re.compile(
    r"://[^/?#@\s]*:[^/?#@\s]+@"  # postgresql://user:password@host
    r"|(?<![a-z])(ssl)?(password|passwd|pwd)\s*=\s*[^\s&]",  # ?password=.. and host=.. password=..
    re.IGNORECASE,
)

_IN_URL = re.compile(r"(://[^/?#@\s:]*:)([^/?#@\s]+)(?=@)")
_NAMED = re.compile(
    r"(?<![a-z.])((?:ssl)?(?:password|passwd|pwd|key_pem|client_secret)\s*=\s*)"
    r"(\"[^\"]*|'[^']*|(?!secret\b)[^\s&\"']+)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Secret:
    name: str

    def __str__(self) -> str:
        """As queries have it."""
        return f'SECRET("{self.name}")'

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise SettingError(
                f"`{self.name[:40]}` cannot name a secret",
                expected="letters, digits, `_`, `-` and dots, as in an environment variable or a file's name",
            )

    def reveal(self) -> str:
        found = os.environ.get(self.name)
        if found is not None:
            return found
        file = Path(os.environ.get(FOLDER, DEFAULT_FOLDER)) / self.name
        try:
            return file.read_text().removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(
                f'SECRET("{self.name}") is not set',
                where=str(file),
                expected=f"an environment variable {self.name}, or this file",
                hint=None if isinstance(error, FileNotFoundError) else f"the file: {type(error).__name__}",
            ) from None


def has_password(address: str) -> bool:
    """Whether an address, as drivers take them, has a password in it."""
    return _PASSWORD.search(address) is not None


def blotted(line: str) -> str:
    """A line of a query with stars for what looks like a password. All else keeps its place."""
    for pattern in (_IN_URL, _NAMED):
        line = pattern.sub(lambda found: found[1] + re.sub("[^\"']", "*", found[2]), line)
    return line


def is_name(text: str) -> bool:
    return bool(text) and not text.startswith(".") and all(c.isalnum() or c in "_-." for c in text)


@dataclass(frozen=True)
class Revealed:
    """Options with the values of their secrets, and what hides these again."""

    values: Mapping[str, Any]
    hidden: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "Revealed(...)"

    def hide(self, text: object) -> str:
        """A text of somebody else, such as a driver's error, without what is secret."""
        said = str(text)
        for value in self.hidden:
            said = said.replace(value, HIDDEN)
        return said


def reveal(options: Iterable[tuple[str, Any]]) -> Revealed:
    given = dict(options)
    opened = {name: value.reveal() if isinstance(value, Secret) else value for name, value in given.items()}
    # The longest first: one secret may be a part of another.
    hidden = {opened[name] for name, value in given.items() if isinstance(value, Secret) and opened[name]}
    return Revealed(opened, tuple(sorted(hidden, key=len, reverse=True)))
