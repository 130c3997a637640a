"""What a run does before Spark is ready, in a process of its own (`head_start.py`): slices, and joins.

`python -m dovetail.spark.head_start_process NOTES`, until its standard input ends; the step that is under way
is finished. Errors go to stderr, and end one join here: it goes on when Spark is there.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from dovetail.engine.snapshot_files import SnapshotFiles
from dovetail.slicing.resident import ResidentSlicer
from dovetail.spark.batches_alone import BatchesAlone
from dovetail.spark.head_start_notes import JoinNote, read_notes
from dovetail.spark.residence import Residence


def run(path: Path, over: threading.Event) -> None:
    """Until `over` is set, and the last step is done."""
    notes = read_notes(path)
    joining = [threading.Thread(target=_join, args=(join, over)) for join in notes.joins]
    slicers = [_slicing(residence) for residence in notes.residences]
    for thread in joining:
        thread.start()
    for thread in joining:
        thread.join()
    over.wait()
    for slicer in slicers:
        slicer.stop()


def _slicing(residence: Residence) -> ResidentSlicer:
    slicer = residence.slicing(residence.slice.home, finite=False)
    slicer.start()
    return slicer


def _join(join: JoinNote, over: threading.Event) -> None:
    batches = BatchesAlone(join)
    while not over.is_set() and batches.possible:
        batches.run_next()
    SnapshotFiles(join.config).copy_all()  # what the hosts of a run have, its home has when it ends


def main(path: str) -> None:
    over = threading.Event()

    def await_end() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=await_end, daemon=True).start()
    run(Path(path), over)


if __name__ == "__main__":
    main(sys.argv[1])
