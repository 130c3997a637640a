"""What can be read from the name of a Spark master."""

from __future__ import annotations

import os
import re

LOCAL_ATTEMPTS = 4
"""How often a task is tried on a local master, as on others by Spark's own default."""


def is_cluster(master: str) -> bool:
    return not master.startswith("local")


def retrying(master: str) -> str:
    """A master that runs a failed task again: `local[2]` would give up at the first worker that dies."""
    plain = re.fullmatch(r"local(?:\[([^,\]]+)\])?", master)
    return f"local[{plain[1] or 1},{LOCAL_ATTEMPTS}]" if plain else master


def local_cores(master: str) -> int:
    inside = master.removeprefix("local").strip("[]").split(",")[0]
    return (os.cpu_count() or 1) if inside == "*" else int(inside or 1)
