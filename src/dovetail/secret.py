"""What `SECRET("name")` stands for: an environment variable, or a file.

Law: a secret is read where it is used, and stands in no plan, log, version or error text."""

from __future__ import annotations

import os
from pathlib import Path

from dovetail.errors import SettingError

PREFIX = "DOVETAIL_SECRET_"
FOLDER_VARIABLE, FOLDER = "DOVETAIL_SECRETS", "/run/secrets"


def secret(name: str) -> str:
    """`DOVETAIL_SECRET_<NAME>`, or the file of that name in the folder that DOVETAIL_SECRETS names. A line
    break at the end of the file does not count."""
    variable = PREFIX + name.upper().replace("-", "_")
    found = os.environ.get(variable)
    if found is not None:
        return found
    file = Path(os.environ.get(FOLDER_VARIABLE) or FOLDER) / name
    try:
        return file.read_text().removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError):
        raise SettingError(
            f"there is no secret {name}",
            where=f'SECRET("{name}")',
            expected=f"the environment variable {variable}, or the file {file}",
            hint="set one of them for the process that runs the application",
        ) from None
