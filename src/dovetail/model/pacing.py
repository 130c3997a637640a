"""How two streams wait for each other (paper, section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pacing:
    """The right stream may be ahead of what the left one needs by `slack_us`. A stream without a new commit
    for `idle_timeout_us` holds the other up no longer."""

    slack_us: int
    idle_timeout_us: int
