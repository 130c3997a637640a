"""A signal ends a command with all that it has started."""

from __future__ import annotations

import os
import signal

import pytest

from dovetail.service.cli.stop_signals import unwind_on_sigterm


def test_sigterm_unwinds_like_an_error() -> None:
    cleared = list[str]()

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            cleared.append("a process that it has started")

    before = signal.getsignal(signal.SIGTERM)
    try:
        unwind_on_sigterm()
        with pytest.raises(SystemExit) as ended:
            work()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (ended.value.code, len(cleared)) == (143, 1)
