"""Every setting of the command line, in one table: name, variable, default, unit, sentence.

The commands read it, `dovetail settings` prints it, and `docs/reference/settings.md` is written from it
(`dovetail settings --markdown`); a test keeps the page current. An option on the command line overrides
the environment variable, which overrides the default.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dovetail.errors import SettingError


@dataclass(frozen=True)
class Setting:
    """One row. `pattern` is what a value must look like; `words` describe a default that is computed."""

    name: str
    variable: str
    default: str
    unit: str
    sentence: str
    pattern: str = r".+"
    words: str = ""

    def read(self, given: str | None = None, environment: Mapping[str, str] = os.environ) -> str:
        """The option if there is one, else the variable if it is set and not empty, else the default."""
        for value, where in (
            (given, f"--{self.name}"),
            (environment.get(self.variable) or None, self.variable),
        ):
            if value is not None:
                if not re.fullmatch(self.pattern, value):
                    raise SettingError(
                        f"{value!r} is not a value for {self.name}",
                        where=where,
                        expected=self.unit,
                        hint=f"leave it out for the default: {self.words or self.default}",
                    )
                return value
        return self.default


HOME = Setting(
    "home",
    "DOVETAIL_HOME",
    ".dovetail",
    "a directory, or a URI that pyarrow can open",
    "Where categories and the state of applications are stored.",
)
INDEX_DIR = Setting(
    "index-dir",
    "DOVETAIL_INDEX_DIR",
    "",
    "a local directory",
    "Where each host keeps the live join indexes. If it is lost, they are rebuilt from the log. "
    "The variable applies to its own host, the option of a run to all hosts.",
    words="`/dev/shm` if it has 1 GiB free, else the temporary directory",
)
MASTER = Setting(
    "master",
    "DOVETAIL_MASTER",
    "local[*]",
    "a Spark master",
    "Spark master that runs the application.",
)
DRIVER_MEMORY = Setting(
    "driver-memory",
    "DOVETAIL_DRIVER_MEMORY",
    "2g",
    "a number and k, m, g or t",
    "Heap of Spark's driver. On a local master, the driver's JVM does all the work.",
    r"\d+[kmgtKMGT]",
)
SLICING = Setting(
    "slicing",
    "DOVETAIL_SLICING",
    "auto",
    "auto, resident or spark",
    "Who puts inputs into the log. `resident`: threads of the run, for inputs whose columns are picked, "
    "renamed or simply computed. `spark`: queries of Spark. `auto`: threads on a local master, queries on "
    "a cluster.",
    r"auto|resident|spark",
)
DEBUG = Setting(
    "debug",
    "DOVETAIL_DEBUG",
    "",
    "1 to turn on",
    "Print the Python traceback of every error.",
    r"[01]",
    words="off",
)

SETTINGS: tuple[Setting, ...] = (HOME, INDEX_DIR, MASTER, DRIVER_MEMORY, SLICING, DEBUG)

_ROOM_BYTES = 1 << 30


def index_dir(given: str | None = None, environment: Mapping[str, str] = os.environ) -> str:
    """The directory of live indexes. Indexes are caches, so they go to memory when there is enough."""
    value = INDEX_DIR.read(given, environment)
    if value:
        return value
    shm = Path("/dev/shm")
    if shm.is_dir() and os.access(shm, os.W_OK) and shutil.disk_usage(shm).free >= _ROOM_BYTES:
        return str(shm)
    return tempfile.gettempdir()


def debugging(environment: Mapping[str, str] = os.environ) -> bool:
    return environment.get(DEBUG.variable, "") not in ("", "0")


def to_markdown() -> str:
    """The reference page."""
    lines = [
        "# Settings",
        "",
        "Written by `dovetail settings --markdown`; do not edit by hand.",
        "An option overrides the environment variable, which overrides the default.",
        "",
        "| setting | environment variable | default | value | what it does |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{s.name}` | `{s.variable}` | {s.words or f'`{s.default}`'} | {s.unit} | {s.sentence} |"
        for s in SETTINGS
    ]
    return "\n".join(lines) + "\n"
