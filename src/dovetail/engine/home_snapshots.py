"""Which snapshots of a join the home has, by the names of their files.

The coordinator asks this before every step and reads no snapshot. So it is apart from what reads and writes
them: that needs the kernels, whose import a process that only plans would wait for.
"""

from __future__ import annotations

import re

from dovetail.log.homes.filesystem import open_store
from dovetail.model.join_config import JoinConfig
from dovetail.model.offset import JoinOffset

NAME = re.compile(r"((\d{12})-[0-9a-f]+)\.(\d+)-of-(\d+)\.snapshot")


class HomeSnapshots:
    """The snapshots of one join in the home."""

    def __init__(self, config: JoinConfig) -> None:
        self._home = open_store(config.home)
        self._folder = config.state_path

    def whole_in_home(self) -> dict[str, list[str]]:
        """Versions with the snapshots of all tasks in the home, oldest first, and the names of the files."""
        found: dict[tuple[str, int], list[str]] = {}
        for entry in self._home.files(self._folder):
            if match := NAME.fullmatch(entry.name):
                found.setdefault((match[1], int(match[4])), []).append(entry.name)
        return {version: names for (version, tasks), names in sorted(found.items()) if len(names) == tasks}

    def remembering(self, start: JoinOffset, end: JoinOffset) -> JoinOffset:
        """`end`, planned from `start`, with its recovery path from what the home has now."""
        whole = self.whole_in_home()
        return end.remembering(start, lambda step: step.version in whole)

    def drop(self, *, before: int) -> None:
        """Delete the snapshots of earlier steps from the home."""
        for entry in self._home.files(self._folder):
            if (match := NAME.fullmatch(entry.name)) and int(match[2]) < before:
                self._home.delete(f"{self._folder}/{entry.name}")
