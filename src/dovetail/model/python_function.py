"""A function of a query that is written in Python: its text and its types.

The text is a part of the plan, so what runs is what was planned, on any machine. `shipped` is its name there,
with a digest of the whole definition. So two versions of a function are two functions. Changing one changes
every query that calls it, and an old query that still has to finish calls the old one.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Style = Literal["scalar", "arrow", "pandas"]
"""What the code is called with: the values of one row, or all of a batch as Arrow arrays or pandas series."""
STYLES: tuple[Style, ...] = ("scalar", "arrow", "pandas")
_DIGITS = 12
_SHIPPED = re.compile(rf"\b(\w+)__([0-9a-f]{{4}})[0-9a-f]{{{_DIGITS - 4}}}\b", re.I)


@dataclass(frozen=True)
class PythonFunction:
    """`parameters`: names and Spark types. `handler`: the function in `code` to call; None: the code is the
    body of a function of the parameters."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    returns: str
    code: str
    handler: str | None = None
    style: Style = "scalar"

    @cached_property
    def shipped(self) -> str:
        said = [self.parameters, self.returns, self.code, self.handler, self.style]
        digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()[:_DIGITS]
        return f"{self.name.lower()}__{digest}"

    @property
    def signature(self) -> str:
        given = ", ".join(f"{name} {kind}" for name, kind in self.parameters)
        return f"{self.name}({given}) RETURNS {self.returns}"


def as_called(sql: str) -> str:
    """SQL for people, with shipped functions as `name@1a2b`."""
    return _SHIPPED.sub(lambda found: f"{found[1]}@{found[2]}".lower(), sql)
