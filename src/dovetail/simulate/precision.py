"""How much of the results' order is kept, and how many stars that takes (SplitJoin, section 5.1).

| written | the paper's name | a core emits a star |
|---|---|---|
| `none` | no ordering | never |
| `outer:N` | relaxed outer ordering | after N rows of a stream |
| `outer` | strict outer = relaxed inner ordering | after each row |
| `inner:N` | adjusted inner ordering | after N comparisons |
| `inner` | strict inner ordering | after each comparison |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dovetail.errors import SettingError


@dataclass(frozen=True)
class Precision:
    kind: Literal["none", "outer", "inner"] = "outer"
    every: int = 1

    def __post_init__(self) -> None:
        if self.every < 1:
            raise SettingError(
                f"a star after every {self.every}", where="ordering precision", expected="1 or more"
            )

    @property
    def rows_per_star(self) -> int:
        """Rows of a stream that come out together; 0 if nothing is ordered."""
        return 0 if self.kind == "none" else self.every if self.kind == "outer" else 1

    def stars(self, sub_window_rows: float) -> float:
        """Of one core for one group of rows."""
        if self.kind == "inner":
            return max(1.0, sub_window_rows / self.every)
        return 1.0 if self.kind == "outer" else 0.0

    def __str__(self) -> str:
        return self.kind if self.kind == "none" or self.every == 1 else f"{self.kind}:{self.every}"


def parse_precision(text: str) -> Precision:
    kind, colon, number = text.partition(":")
    plain = kind in ("none", "outer", "inner") and not colon
    counted = kind in ("outer", "inner") and number.isdecimal()
    if not (plain or counted):
        raise SettingError(
            f"{text!r} is no ordering precision",
            where="--ordering",
            expected="none, outer, outer:N (rows a star), inner or inner:N (comparisons a star)",
        )
    return Precision(kind, int(number) if number else 1)  # type: ignore[arg-type]
