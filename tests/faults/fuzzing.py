"""The fuzzer in processes of its own. If one crashes or hangs, the mutant that did it is reported, and a new
process goes on after it."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
FUZZER = (sys.executable, "-X", "faulthandler", "-m", "faults.fuzzer")
SILENT_S = 240.0
"""A mutant that says nothing for so long hangs; the first of a process also waits for its kernels."""


@dataclass
class Report:
    """Outcomes of mutants, and what went wrong."""

    outcomes: list[dict[str, Any]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def fuzzed(
    seed: int, first: int, count: int, command: Sequence[str] = FUZZER, silent_s: float = SILENT_S
) -> Report:
    report, stop = Report(), first + count
    while first < stop:
        trying = _run([*command, str(seed), str(first), str(stop - first)], report, silent_s)
        if trying is None:
            break
        if trying["trying"] < first:
            report.wrong.append("the fuzzer does not start")
            break
        first = trying["trying"] + 1
    return report


def _run(command: list[str], report: Report, silent_s: float) -> dict[str, Any] | None:
    """One process; the mutant at which it ended before it was done, or None."""
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}:{os.environ.get('PYTHONPATH', '')}"}
    trying: dict[str, Any] = {"trying": -1}
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, bufsize=0, env=environment, cwd=TESTS.parent
        ) as process,
        selectors.DefaultSelector() as ready,
    ):
        assert process.stdout is not None
        ready.register(process.stdout, selectors.EVENT_READ)
        while True:
            # Unbuffered: a line that was read but not taken would look like silence.
            line = process.stdout.readline() if ready.select(silent_s) else None
            if line is None:
                process.kill()
                report.wrong.append(f"{trying} of {command}: it hangs")
                return trying
            if not line:
                break
            said = json.loads(line)
            if "trying" in said:
                trying = said
            elif said.get("outcome") == "WRONG":
                report.wrong.append(f"mutant {said['tried']} of {command}: {said['why']}")
            elif "outcome" in said:
                report.outcomes.append(said)
        code = process.wait()
    if code == 0:
        return None
    report.wrong.append(f"{trying} of {command}: the process ended with {code}")
    return trying
