"""A thread for each join core, and what happens when one fails."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np


class CoreThreads:
    """Runs the cores of a design until they are stopped. When a core raises, the error goes into `failed` and
    its thread ends."""

    def __init__(self, cores: list[Any], failed: dict[int, BaseException]) -> None:
        self._stops = [np.zeros(8, np.int64) for _ in cores]
        self._failed = failed
        self._threads = [
            threading.Thread(
                target=self._run, args=(number, core), name=f"dovetail-core-{number}", daemon=True
            )
            for number, core in enumerate(cores)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, number: int, core: Any) -> None:
        stop = self._stops[number]
        try:
            while not stop[0]:
                core.run(stop)
        except BaseException as error:
            self._failed[number] = error

    def stop_one(self, number: int) -> None:
        self._stops[number][0] = 1
        self._threads[number].join()

    def stop(self) -> None:
        for stop in self._stops:
            stop[0] = 1
        for thread in self._threads:
            thread.join()
