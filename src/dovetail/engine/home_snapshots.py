"""Which snapshots of a join the home has, by the names of their files.

The coordinator asks this before every step and reads no snapshot. So it is apart from what reads and writes
them: that needs the kernels, whose import a process that only plans would wait for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from dovetail.log.homes.filesystem import open_store
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset

NAME = re.compile(r"((\d{12})-[0-9a-f]+)\.(\d+)-of-(\d+)\.snapshot")
PIECE = re.compile(r"((\d{12})-[0-9a-f]+\.\d+-of-\d+\.\d+\.piece)(\.twin)?")
TWIN = ".twin"
"""The home has two copies of a piece: many snapshots need it, and one damaged file must not cost them all."""
NAMED_WITHIN = 16
"""A piece that is written beside the steps (`piece_merging.py`) is named within these steps, or never."""
PIECES_LOOKED_AT = 16
"""Steps between two searches for pieces that no snapshot names any more."""


class HomeSnapshots:
    """The snapshots of one join in the home."""

    def __init__(self, config: JoinConfig) -> None:
        self._home = open_store(config.home)
        self._folder = config.state_path

    def whole_in_home(self) -> dict[str, list[str]]:
        """Versions with the snapshots of all tasks in the home, oldest first, and the names of the files."""
        found: dict[tuple[str, int], list[str]] = {}
        for name in self._home.names(self._folder):
            if match := NAME.fullmatch(name):
                found.setdefault((match[1], int(match[4])), []).append(name)
        return {version: names for (version, tasks), names in sorted(found.items()) if len(names) == tasks}

    def remembering(self, start: JoinOffset, end: JoinOffset) -> JoinOffset:
        """`end`, planned from `start`, with its recovery path from what the home has now."""
        whole = self.whole_in_home()
        return end.remembering(start, lambda step: step.version in whole)

    def drop(self, *, before: int) -> None:
        """Delete the snapshots of earlier steps from the home, and pieces that none of the others names."""
        names = self._home.names(self._folder)
        kept = []
        for name in names:
            if match := NAME.fullmatch(name):
                if int(match[2]) < before:
                    self._home.delete(f"{self._folder}/{name}")
                else:
                    kept.append(name)
        if before % PIECES_LOOKED_AT or not any(PIECE.fullmatch(name) for name in names):
            return
        with suppress(ValueError, FileNotFoundError):
            contents = [self._home.buffer(f"{self._folder}/{name}") for name in kept]
            for name in unnamed_pieces(names, contents, before - NAMED_WITHIN):
                self._home.delete(f"{self._folder}/{name}")


def unnamed_pieces(names: Iterable[str], snapshots: Sequence[Any], before: int) -> list[str]:
    """Pieces that were written before a step and that none of these snapshots, those from that step on,
    names. ValueError if one of the snapshots cannot be read.

    A piece is named by every snapshot from soon after the step that wrote it until the last that needs it. So
    one that is older than the first of these snapshots, and not young either (NAMED_WITHIN), and that none of
    them names, is needed by none that is still on its way here.
    """
    if not snapshots:
        return []
    named = {name for content in snapshots for name in _named_in(memoryview(content))}
    matches = [match for name in names if (match := PIECE.fullmatch(name))]
    return [match[0] for match in matches if int(match[2]) < before and match[1] not in named]


def _named_in(content: memoryview) -> list[str]:
    """The pieces that a snapshot names, from its header: see `joins/snapshot.py`, which needs the kernels."""
    length = int.from_bytes(content[16:20], "little")
    header = json.loads(bytes(content[20 : 20 + length]))
    try:
        return [piece[0] for piece in header.get("pieces", [])]
    except (AttributeError, TypeError, LookupError) as error:
        raise ValueError(str(error)) from error
