"""Settings of the algorithms (section 5.5 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.errors import SettingError


@dataclass(frozen=True)
class Knobs:
    """None: the algorithm decides by the size of its input."""

    radix_bits: int | None = None
    """PRJ: partitions are `1 << radix_bits`; MWay: ranges (the paper's #r)."""

    sorting_step: float = 0.2
    """PMJ: the share of its input that a thread gathers before it sorts and joins it (the paper's δ)."""

    group_size: int = 1
    """JB: threads that share the rows of one group of keys (the paper's g). 1: keys are dealt out by hash;
    as many as threads: the join-matrix."""

    router: bool = False
    """JB: rows are sent to groups by a router that records where each went, as in the paper, instead of every
    thread choosing its own."""

    physical: bool = False
    """Eager: hand keys to threads by value (copied) instead of by row number."""

    run_rows: int = 1 << 17
    """MPass: rows sorted at a time, before runs are merged."""

    ways: int = 4
    """MWay: runs of one range that are merged; never fewer than there are threads."""

    block_rows: int = 8192
    """Eager: rows of one side taken at a time when they are there."""

    chunk_pairs: int = 1 << 16
    """Pairs a thread collects before it hands them on."""

    def __post_init__(self) -> None:
        if self.radix_bits is not None:
            _within("radix_bits", self.radix_bits, 0, 18)
        _within("sorting_step", self.sorting_step, 1e-6, 1.0, (int, float))
        for name in ("group_size", "run_rows", "ways", "block_rows", "chunk_pairs"):
            _within(name, getattr(self, name), 1, 1 << 30)


def _within(name: str, value: float, least: float, most: float, kinds: type | tuple[type, ...] = int) -> None:
    if not isinstance(value, kinds) or not least <= value <= most:
        number = "whole number" if kinds is int else "number"
        raise SettingError(
            f"{name} = {value!r} makes no window join", expected=f"a {number} from {least} to {most}"
        )
