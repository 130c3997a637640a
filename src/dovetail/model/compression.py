"""What writers of a category do with payload."""

from __future__ import annotations

from typing import Literal, get_args

Compression = Literal["auto", "zstd", "none"]
"""auto: compress where rows are wide and it pays; zstd: always; none: never."""

COMPRESSIONS: tuple[Compression, ...] = get_args(Compression)
