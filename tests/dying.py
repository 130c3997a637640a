"""A process that dies between any two file operations, without a process that dies.

The operations of the operating system are counted, and on homes elsewhere the points between requests; at the
k-th one the process "dies": this one and all later ones fail, also those that would clean up. Then a new
process looks at what is there.
"""

from __future__ import annotations

import builtins
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from dovetail.log import history
from dovetail.log.homes import remote
from dovetail.log.homes.kafka import store as kafka_store

OPERATIONS = ("link", "rename", "fsync", "unlink", "mkdir")


class Crash(BaseException):
    """No `except` clause of the product is meant to catch this."""


@contextmanager
def dying_at(step: int, *, done: bool) -> Iterator[list[str]]:
    """Die at operation number `step`, just before it takes effect or just after (`done`)."""
    log: list[str] = []

    def wrap(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            log.append(name)
            if len(log) > step + 1 or (len(log) == step + 1 and not done):
                raise Crash(name)
            try:
                result = operation(*args, **kwargs)
            except OSError:
                if len(log) == step + 1:  # it fails as it would have, but nobody is left to hear of it
                    raise Crash(name) from None
                raise
            if len(log) == step + 1:
                if name == "open":
                    result.close()
                raise Crash(name)
            return result

        return wrapped

    def wrap_open(*args: Any, **kwargs: Any) -> Any:
        mode = args[1] if len(args) > 1 else "r"
        return counted_open(*args, **kwargs) if mode == "xb" else real_open(*args, **kwargs)

    real_open = builtins.open
    counted_open = wrap("open", real_open)
    with pytest.MonkeyPatch.context() as patch:
        for name in OPERATIONS:
            patch.setattr(os, name, wrap(name, getattr(os, name)))
        patch.setattr(builtins, "open", wrap_open)
        for store in (remote, kafka_store):
            patch.setattr(store, "file_crash_point", wrap("point", lambda path, progress: None))
        yield log


def crash_everywhere(
    homes: Path | Callable[[str], str],
    prepare: Callable[[str], Any],
    action: Callable[[Any], Any],
    check: Callable[[str], None],
) -> int:
    """Run `action` once for each operation it makes, dying there; returns how many points there were. Each
    time `prepare` gets a new home and gives what `action` works on. A new process checks what it left."""
    between = False
    for run in itertools.count():
        step, done = run // 2, bool(run % 2)
        if done and between:
            continue
        name = f"{step}-{done}"
        home = str(homes / name) if isinstance(homes, Path) else homes(name)
        made = prepare(home)
        history.forget()
        survived = False
        with dying_at(step, done=done) as log, suppress(Crash):
            action(made)
            survived = True
        if survived:
            assert len(log) <= step
            return step
        history.forget()
        check(home)
        between = log[-1] == "point" and not done  # there is nothing that could take effect
    raise AssertionError("unreachable")
