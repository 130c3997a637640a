"""The real command, running in the background until it is asked to stop."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from spark.command_line import assert_no_trace, command, environment


@contextmanager
def running(
    *arguments: str, folder: Path, more: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """`dovetail ARGUMENTS`; stopped as a person stops it, and then it must have ended well."""
    with open(folder / "said", "wb") as said:
        process = subprocess.Popen(
            command(*arguments),
            cwd=folder,
            env=environment() | dict(more or {}),
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        status = process.wait(600)
        text = (folder / "said").read_text()
        assert status == 0, text
        assert_no_trace(text)
    finally:
        process.kill()
        process.wait()
