"""A join is stopped, one file of its home is damaged, and it is started again: it puts out what the oracle
says, or refuses with an error that names the file; never a wrong row.

`DAMAGED_HOMES=1000 pytest tests/faults/test_damaged_home.py` tries more.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from dovetail.engine.copying import settle
from dovetail.errors import DovetailError
from dovetail.model.offset import JoinOffset
from dovetail.service.torture import quick_join
from faults.fuzzer import DOCUMENTED
from faults.mutants import DAMAGES
from faults.specimen import forget

FILES = {
    "category": "log/*/category.json",
    "commit": "log/*/commits/*.json",
    "segment": "log/*/segments/*.arrow",
    "reader": "log/*/readers/*.json",
    "first": "log/*/first.json",
    "snapshot": "apps/*/state/*/*.snapshot",
    "local snapshot": "index/*/snapshots/*.snapshot",
    "record": "apps/*/state/*/steps/*.json",
    "header": "index/*/*/header.json",
    "ring": "index/*/*/*.ring",
}
REPAIRED = {"reader", "record", "header", "ring", "snapshot", "local snapshot"}
"""Files that are made again: if one is damaged, a run goes on as if nothing had happened."""
TASKS = 2
HOMES = int(os.environ.get("DAMAGED_HOMES", "36"))


class Stopped(Exception):
    """The run is over, for now."""


def stopped_after(steps: int, home: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run = quick_join.Steps.run

    def some(self: quick_join.Steps, start: JoinOffset, end: JoinOffset) -> None:
        if end.step > steps:
            raise Stopped
        run(self, start, end)

    forget()
    with monkeypatch.context() as patch:
        patch.setattr(quick_join.Steps, "run", some)
        with pytest.raises(Stopped):
            quick_join.run(home, home / "index", seed, tasks=TASKS)


def started_again(home: Path, seed: int) -> DovetailError | None:
    """What a run that was refused says; None if it came to its end."""
    forget()
    try:
        quick_join.run(home, home / "index", seed, tasks=TASKS)
    except DOCUMENTED as error:
        return error
    finally:
        settle()
    return None


@pytest.mark.parametrize("seed", range(4))
def test_the_right_rows_or_none(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    home, kept = tmp_path / "home", tmp_path / "kept"
    rng = random.Random(seed)
    stopped_after(5 + seed % 3, home, seed, monkeypatch)
    settle()
    shutil.copytree(home, kept)
    expected = quick_join.quick_expected(seed)
    seen: Counter[tuple[str, str]] = Counter()
    for number in range(-(-HOMES // 4)):
        kind = list(FILES)[number % len(FILES)]
        shutil.rmtree(home)
        shutil.copytree(kept, home)
        files = sorted(home.glob(FILES[kind]))
        path, damage = rng.choice(files), rng.choice(DAMAGES)
        which = f"seed {seed}, home {number}: {path.relative_to(home)} ({damage.__name__})"
        path.write_bytes(damage(path.read_bytes(), rng.choice(files).read_bytes(), rng))
        if kind == "snapshot" and rng.random() < 0.7:  # elsewhere: no live index, no local snapshots there
            shutil.rmtree(home / "index")
        error = started_again(home, seed)
        found = Counter(quick_join.put_out(home))
        if error is None:
            assert found == expected, which
        else:
            assert kind not in REPAIRED, f"{which}: {error}"
            assert path.name in (error.where or ""), f"{which}: {error}"
            assert error.hint, which
            assert found <= expected, which
        seen[kind, "right" if error is None else "refused"] += 1
    for (kind, outcome), times in sorted(seen.items()):
        print(f"{kind:10} {outcome:8} {times}")
