"""Figure 11 of the paper: memory and backlog around a kill and a restart, while input goes on arriving.

The join holds a large right window and keeps up with two streams of a steady rate. Its processes are killed,
its index is lost, and it is started again at once. Event time passes as quickly as rows arrive, so that what
is held stays the same: only the rebuild and the backlog change anything.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench import recovery_join
from bench.measure import tree_use
from bench.recovery_window import SPAN_US, WindowSize, append, build
from dovetail.joins.rebuild_progress import rebuilding
from dovetail.log.category import Category

SAMPLE_S = 0.2
COMMIT_S = 0.5
LEFT_SHARE = 0.1
"""Left rows for each right row."""


@dataclass(frozen=True)
class Plan:
    """`calm_s`: how long to run before the kill, and after it; rows per second of the right stream."""

    size: WindowSize
    rows_per_s: int = 40_000
    calm_s: float = 10.0
    after_s: float = 30.0


@dataclass
class Figure11:
    """`line`: what was seen, moment by moment, in seconds since the kill. `down_s`: from the kill to the
    first step that was done after it; of which `replay_s`. `caught_up_s`: until no more was waiting than
    before; None if the run ended earlier."""

    rows: int
    rows_per_s: int
    index_lost: bool
    down_s: float | None = None
    replay_s: float | None = None
    caught_up_s: float | None = None
    most_backlog_rows: int = 0
    line: dict[str, list[float]] = field(
        default_factory=lambda: {
            "s": [],
            "index_bytes": [],
            "rss_bytes": [],
            "backlog_rows": [],
            "replayed": [],
        }
    )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def figure_11(plan: Plan, work: Path, tell: Callable[[str], None], *, index_lost: bool = True) -> Figure11:
    home, index = work / "home", work / "index"
    tell(f"writing a window of {plan.size.rows:,} rows")
    build(home, plan.size, next_step=False)
    recovery_join.take_window(home, index, plan.size)
    feed, found = Feed(home, plan), Figure11(plan.size.rows, plan.rows_per_s, index_lost)
    process = _started(home, index)
    try:
        tell("waiting until the join keeps up")
        _until(
            lambda: (
                feed.tick() or (recovery_join.done(home).step > 3 and feed.backlog() < plan.rows_per_s * 3)
            )
        )
        began, killed = time.monotonic(), None
        while killed is None or time.monotonic() - killed < plan.after_s:
            feed.tick()
            now = time.monotonic()
            if killed is None and now - began >= plan.calm_s:
                tell("killed, and started again")
                step = recovery_join.done(home).step
                killed, process = now, _killed_and_started(process, home, index, lost=index_lost)
            _sample(found, process.pid, home, index, feed, began + plan.calm_s)
            if killed and found.down_s is None and recovery_join.done(home).step > step:
                found.down_s = now - killed
                found.replay_s = recovery_join.rebuild_s(home)
            time.sleep(SAMPLE_S)
    finally:
        _kill(process)
        shutil.rmtree(index, ignore_errors=True)
    judge(found)
    return found


class Feed:
    """Both streams, at a steady rate by the clock; what was not written in time is written later."""

    def __init__(self, home: Path, plan: Plan) -> None:
        self._sides = [Category.open(str(home), name) for name in ("left", "right")]
        self._plan, self._rng = plan, np.random.default_rng(plan.size.seed + 1)
        self._home = home
        self._begun, self._commits = time.monotonic(), 0
        self._rows = [0, 0]

    def tick(self) -> None:
        while self._begun + self._commits * COMMIT_S < time.monotonic():
            self._commits += 1
            size = self._plan.size
            right = int(self._plan.rows_per_s * COMMIT_S)
            first = size.rows + self._rows[1]
            rows = np.arange(first, first + right)
            times = (rows / size.rows * SPAN_US).astype(np.int64)
            append(self._sides[1], rows, times, self._rng, parts=1)
            left = self._rng.choice(right, int(right * LEFT_SHARE), replace=False)
            ago = self._rng.integers(0, size.rows * 9 // 10, len(left))
            append(self._sides[0], rows[left] - ago, times[left], self._rng, parts=1)
            self._rows = [self._rows[0] + len(left), self._rows[1] + right]

    def backlog(self) -> int:
        """Rows that were written and that no finished step has taken."""
        at = recovery_join.done(self._home)
        taken = (at.left, at.right)
        return sum(
            commit.rows
            for category, start in zip(self._sides, taken, strict=True)
            for commit in category.commits(start, category.next_commit())
        )


def _sample(found: Figure11, pid: int, home: Path, index: Path, feed: Feed, zero: float) -> None:
    line = found.line
    now = rebuilding(recovery_join.config(home, index))
    line["s"].append(time.monotonic() - zero)
    line["index_bytes"].append(sum(path.stat().st_size for path in _rings(index)))
    line["rss_bytes"].append(tree_use(pid).rss_bytes)
    line["backlog_rows"].append(feed.backlog())
    line["replayed"].append(now.share if now else 0.0)


def _rings(index: Path) -> list[Path]:
    return [path for path in index.glob("*/*/*.ring") if path.exists()]


def judge(found: Figure11) -> None:
    s, backlog = np.array(found.line["s"]), np.array(found.line["backlog_rows"])
    usual = backlog[s < 0].max() if (s < 0).any() else 0
    found.most_backlog_rows = int(backlog.max())
    behind = s[(backlog > usual) & (s > 0)]
    if backlog[-1] <= usual:
        found.caught_up_s = float(behind.max()) if len(behind) else 0.0


def _started(home: Path, index: Path) -> subprocess.Popen[bytes]:
    """In a session of its own: it is killed with all its tasks."""
    root = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "bench.recovery_join", str(home), str(index)]
    return subprocess.Popen(command, start_new_session=True, env={**os.environ, "PYTHONPATH": path})


def _killed_and_started(
    process: subprocess.Popen[bytes], home: Path, index: Path, *, lost: bool
) -> subprocess.Popen[bytes]:
    _kill(process)
    if lost:
        shutil.rmtree(index, ignore_errors=True)
    return _started(home, index)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _until(true: Callable[[], object], at_most_s: float = 300.0) -> None:
    deadline = time.monotonic() + at_most_s
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError("the join does not keep up with its input")
        time.sleep(SAMPLE_S)
