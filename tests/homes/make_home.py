"""Packs a small home as one build of Dovetail leaves it: three joins in the middle of their streams.

It runs with the code and the test drivers of that build, in a checkout of it:

    git worktree add /tmp/build COMMIT && cd /tmp/build
    PYTHONPATH=src:tests python .../tests/homes/make_home.py /tmp/COMMIT.tar.gz

so it uses only what is in every one of them. A home that was packed once is never made again.
`tests/unit/engine/test_released_homes.py` goes on from each."""

import gzip
import io
import json
import random
import sys
import tarfile
import tempfile
from pathlib import Path

from dovetail.engine.copying import settle
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import ThetaJoin, WindowedJoin
from dovetail.model.theta import Theta
from dovetail.model.window_join import tumbling
from laws.theta import band
from service.test_why_command import plan, started
from unit.engine.stepping import Driven

KINDS = {
    "interval": IntervalSpec(30, 40, "left"),
    "windowed": WindowedJoin("left", tumbling(50)),
    "theta": ThetaJoin(IntervalSpec(30, 40, "left"), Theta((band(-1, 1),))),
}


def drive(folder, name):
    rng, join = random.Random(name), Driven.make(folder, KINDS[name])
    rows = {"left": [], "right": []}
    for step in range(4):
        for side, known in rows.items():
            keys = range(3) if name == "theta" else "abc"
            new = [(rng.choice(keys), step * 40 + rng.randrange(60)) for _ in range(4)]
            join.append(side, *new)
            known.extend(new)
        join.step()
    settle()
    if name == "interval":
        started(join.config.home, plan("view"))
    said = {"offset": join.offset.to_json(), "rows": rows, "out": join.out}
    (folder / "driven.json").write_text(json.dumps(said))


def main(target):
    with tempfile.TemporaryDirectory() as work, io.BytesIO() as packed:
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name in KINDS:
                folder = Path(work) / name
                folder.mkdir()
                drive(folder, name)
                for path in sorted(folder.rglob("*")):
                    if path.is_file() and "index" not in path.relative_to(folder).parts:
                        archive.add(path, str(path.relative_to(work)))
        Path(target).write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
