"""Nothing that was written is trusted when it is read back: whatever is in a file, the answer is the right
one or a documented error.

`FUZZ_MUTANTS=100000 FUZZ_SEED=7 pytest tests/faults/test_fuzz.py` looks for longer. In tests/, `python -m
faults.fuzzer SEED NUMBER 1` shows what a mutant does.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import dovetail
from dovetail.crash_points import KINDS
from faults.formats import FORMATS, NEVER_READ, READERS
from faults.fuzzing import SILENT_S, fuzzed

SHARDS = 2
MUTANTS = int(os.environ.get("FUZZ_MUTANTS", "120"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
READS = re.compile(
    r"json\.loads?\(|\.read_text\(|\.read_bytes\(|memmap|memory_map\(|ipc\.(open|read)|[Ss]tore\.(read|buffer|pieces)\("
)


def test_every_kind_of_file_is_fuzzed() -> None:
    assert set(KINDS.values()) <= set(FORMATS) | set(NEVER_READ)


def test_every_module_that_reads_is_known() -> None:
    sources = Path(dovetail.__file__).parent
    reading = {
        str(path.relative_to(sources)) for path in sources.rglob("*.py") if READS.search(path.read_text())
    }
    assert reading == set(READERS), "a module that reads files needs a place in faults/formats.py"
    assert {kind for kinds in READERS.values() if isinstance(kinds, tuple) for kind in kinds} <= set(FORMATS)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_the_right_answer_or_a_documented_error(shard: int) -> None:
    count = MUTANTS // SHARDS
    report = fuzzed(SEED, shard * count, count)
    tallied = Counter((one["kind"], one["outcome"]) for one in report.outcomes)
    for (kind, outcome), times in sorted(tallied.items()):
        print(f"{kind:12} {outcome:16} {times}")
    assert not report.wrong, f"seed {SEED}: " + "\n".join(report.wrong)
    assert len(report.outcomes) == count
    assert {kind for kind, _ in tallied} == set(FORMATS)
    assert sum(times for (_, outcome), times in tallied.items() if outcome == "CorruptFile") > count // 4


@pytest.mark.parametrize(
    ("accident", "seen"),
    [("os.kill(os.getpid(), 11)", "ended with -11"), ("time.sleep(600)", "hangs"), ("1/0", "ended with 1")],
)
def test_a_mutant_that_crashes_or_hangs_is_told_and_passed_over(
    tmp_path: Path, accident: str, seen: str
) -> None:
    script = tmp_path / "fuzzer.py"
    script.write_text(
        "import json, os, sys, time\n"
        "first, count = map(int, sys.argv[2:])\n"
        "for n in range(first, first + count):\n"
        '    print(json.dumps({"trying": n}), flush=True)\n'
        f"    if n == 1: {accident}\n"
        '    print(json.dumps({"tried": n, "kind": "x", "outcome": "same"}), flush=True)\n'
    )
    patience_s = 15.0 if seen == "hangs" else SILENT_S  # of these it is waited out
    report = fuzzed(1, 0, 4, (sys.executable, str(script)), patience_s)
    assert [one["tried"] for one in report.outcomes] == [0, 2, 3]
    (wrong,) = report.wrong
    assert seen in wrong
    assert "'trying': 1" in wrong
