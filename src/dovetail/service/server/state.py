"""The daemon's own state: the keeper's loop, logins and figures over time."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from pathlib import Path
from typing import Any

from fastapi import Request

from dovetail.errors import DovetailError
from dovetail.service.alarms.bell import Bell
from dovetail.service.alarms.look import SERVICE, SILENT, Look
from dovetail.service.alarms.past import FigurePast
from dovetail.service.alarms.reach_back import lost_rows
from dovetail.service.keeping.autoscaling import SEEN_S, scale_look
from dovetail.service.keeping.keeper import Keeper
from dovetail.service.memory import machine_bytes
from dovetail.service.scaler.decisions import is_mending
from dovetail.service.scaler.loop import EVERY_S as SCALE_EVERY_S
from dovetail.service.scaler.loop import JOINS, Scaler, remembered
from dovetail.service.server.ledger import ServiceLedger
from dovetail.service.server.overview import overviews

KEEP_EVERY_S = 1.0
REMEMBER_EVERY_S = 10.0
SILENT_AFTER_S = 60.0
FIGURES = (
    "rows_per_s",
    "match_rate",
    "behind_us",
    "backlog_rows",
    "matches",
    "index_bytes",
    "rows",
    "late",
    "bad",
    "time_us",
    "backlog_us",
    "paused_share",
    "accuracy",
)
"""What is remembered of an application over time."""


class Daemon:
    """`address`: how people reach it, as in `https://example.org`. `links`: the one-time link lets in; only
    on loopback."""

    def __init__(
        self, home: str, ledger: Path, hosts: frozenset[str], address: str = "", *, links: bool = True
    ) -> None:
        self.home = home
        self.hosts = hosts
        self.address = address or f"http://{min(hosts)}"
        self.links = links
        self.keeper = Keeper(home)
        self.ledger = ServiceLedger(ledger)
        self.bell = Bell(home)
        self.scaler = Scaler(home)
        self.looked_at_s = time.time()
        self.lost: dict[str, str] = {}
        self.looked_once = False
        self._pasts: dict[str, FigurePast] = {}
        self.trouble: str | None = None
        self._woken = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def keep(self) -> None:
        """Until it is cancelled. Trouble of one look is kept for `/readyz`, and the next look comes."""
        self._loop = asyncio.get_running_loop()
        remembered_s = scaled_s = rung_s = -math.inf  # by a clock that nobody sets back
        while True:
            self._woken.clear()
            try:
                await asyncio.to_thread(self.keeper.step)
                self.looked_at_s, self.trouble, self.looked_once = time.time(), None, True
                if time.monotonic() - remembered_s > REMEMBER_EVERY_S:
                    remembered_s = time.monotonic()
                    await asyncio.to_thread(self._remember)
                if time.monotonic() - scaled_s > SCALE_EVERY_S:
                    scaled_s = time.monotonic()
                    await asyncio.to_thread(self._scale)
            except (DovetailError, OSError) as error:
                self.trouble = str(error)
            if time.monotonic() - rung_s > REMEMBER_EVERY_S:
                rung_s = time.monotonic()
                await self._ring_safely()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), KEEP_EVERY_S)

    def wake(self) -> None:
        """Look at once: something has changed. May be called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._woken.set)

    def history(self, application: str, minutes: float) -> dict[str, list[Any]]:
        found = self.ledger.history(application, time.time() - 60 * minutes)
        columns: dict[str, list[Any]] = {"at": [at for at, _ in found]}
        for name in FIGURES:
            columns[name] = [figures.get(name) for _, figures in found]
        return columns

    async def _ring_safely(self) -> None:
        """Also when the look at the applications failed: that is what one of the alarms is about."""
        try:
            await asyncio.to_thread(self.ring)
        except (DovetailError, OSError) as error:
            self.trouble = str(error)

    def own_look(self, now_s: float) -> Look:
        """The daemon itself, as something that is looked at."""
        silent = now_s - self.looked_at_s > SILENT_AFTER_S
        why = self.trouble or "no look was finished lately"
        return Look(SERVICE, "running", SILENT if silent else "running", why)

    def ring(self) -> None:
        """Let alarms ring, and be over."""
        now_s, memory = time.time(), machine_bytes()
        looks = [self.own_look(now_s)]
        self.lost = {}
        kept = [one for one in overviews(self.home, self.keeper) if one.wanted is not None]
        self._pasts = {one.name: self._past(one.name) for one in kept}
        for one in kept:  # others are run by hand and watched by their users
            assert one.wanted is not None
            recent, match_rate = self._pasts[one.name].look(now_s)
            lost = lost_rows(self.home, one.name)
            self.lost |= {one.name: lost} if lost else {}
            looks.append(
                Look(
                    one.name,
                    one.wanted.state,
                    one.condition,
                    one.why,
                    one.figures if one.fresh else None,
                    recent,
                    match_rate,
                    memory,
                    lost,
                    self.scaler.stuck.get(one.name),
                    is_mending(self.home, one.name, now_s),
                )
            )
        self.bell.look(looks)

    def _past(self, application: str) -> FigurePast:
        return self._pasts.get(application) or FigurePast(application, "match_rate", self.ledger.figures)

    def _remember(self) -> None:
        now_s = time.time()
        for one in overviews(self.home, self.keeper):
            if one.fresh:
                brief = one.brief()
                kept = {name: brief[name] for name in FIGURES}
                self.ledger.remember(one.name, now_s, {**kept, JOINS: remembered(one.figures, now_s)})

    def _scale(self) -> None:
        now_s = time.time()
        for one in overviews(self.home, self.keeper):
            if one.wanted is None or one.wanted.scaler == "off" or not one.fresh:
                continue
            history = self.ledger.history(one.name, now_s - SEEN_S, most=1_000)
            scale_look(self.home, self.scaler, one.wanted, history, now_s)


def daemon_of(request: Request) -> Daemon:
    found: Daemon = request.app.state.daemon
    return found
