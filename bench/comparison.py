"""Runs the systems one after the other, each in a fresh process, and gathers their outcomes into a report."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from bench.child import SYSTEMS, Join, Order, dataset_to_json
from bench.command import tell
from bench.measure import Figures, Peak, peak_rss
from bench.reference import batch_join
from bench.report import Outcome, Report
from bench.workload import Workload, generate, written_as
from dovetail.errors import RunError
from dovetail.service.cli.stop_signals import unwind_on_sigterm

WARM_UP_ROWS, WARM_UP_FILES = 200_000, 20
_ROOT = Path(__file__).resolve().parent.parent


def compare(args: argparse.Namespace, workload: Workload, join: Join = "interval") -> Report:
    window_us = round(args.window_minutes * 60_000_000)
    spark_setup = {
        "partitions": args.spark_partitions or args.cores,
        "files_per_trigger": args.spark_files_per_trigger or workload.files + 1,  # and the end rows
        "state": args.spark_state,
    }
    systems = (args.only,) if args.only else SYSTEMS
    unwind_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="dovetail-bench-") as work:
        data: Path = args.data or Path(work) / "data"
        tell("writing the workload" if args.data is None else f"workload in {data}")
        timed = generate(workload, data)
        warm_up = generate(Workload(WARM_UP_ROWS, WARM_UP_FILES, args.seed, args.span_minutes), data)
        timed, warm_up = (written_as(dataset, args.format) for dataset in (timed, warm_up))
        expected = batch_join(timed, window_us, join)
        tell(f"batch join: {expected.matched:,} pairs, {expected.unmatched:,} left rows alone")
        outcomes: list[Outcome] = []
        versions: dict[str, str] = {}
        for repeat in range(args.repeat):
            for system in systems:
                label = f"{system} {repeat + 1}/{args.repeat}"
                folder = Path(work) / f"{system}-{repeat}"
                folder.mkdir()
                order = Order(
                    system=system,
                    warm_up=dataset_to_json(warm_up),
                    timed=dataset_to_json(timed),
                    window_us=window_us,
                    cores=args.cores,
                    driver_memory=args.driver_memory,
                    spark=spark_setup,
                    work=str(folder),
                    outcome=str(folder / "outcome.json"),
                    started_at=time.time(),
                    join=join,
                )
                said, peak_rss_bytes = run_child(order, label)
                versions |= said["versions"]
                figures = Figures(**said["figures"])
                outcomes.append(Outcome(system, figures, said["cpu_s"], said["cold_start_s"], peak_rss_bytes))
                tell(f"{label}: {figures.rows_per_s:,.0f} rows/s in {figures.elapsed_s:.1f} s")
    return Report(
        rows=workload.rows,
        window_minutes=args.window_minutes,
        max_delay_s=timed.max_delay_us / 1e6,
        cores=args.cores,
        repeats=args.repeat,
        expected=expected,
        outcomes=tuple(outcomes),
        versions=versions,
        spark_setup=spark_setup,
        join=join,
    )


class AnyOrder(Protocol):
    """The order of any child. The child writes its outcome, as JSON, to the file that it names."""

    @property
    def system(self) -> str: ...
    @property
    def work(self) -> str: ...
    @property
    def outcome(self) -> str: ...
    def to_json(self) -> str: ...


def run_child(
    order: AnyOrder,
    label: str,
    module: str = "bench.child",
    *,
    python: str = sys.executable,
    peak_of: Callable[[int], Peak] = peak_rss,
    hear: Callable[[str], None] = lambda line: None,
) -> tuple[dict[str, Any], int]:
    """Run one system in a fresh process; show its progress, which `hear` gets too, and keep its log for the
    case that it fails. Gives its outcome and its peak memory."""
    log = Path(order.work) / "log.txt"
    paths = [str(_ROOT), str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with log.open("w") as errors:
        child = subprocess.Popen(
            [python, "-m", module, order.to_json()],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=environment,
            cwd=order.work,
        )
        try:
            with peak_of(child.pid) as peak:
                assert child.stdout is not None
                for line in child.stdout:
                    tell(f"{label}, {line.rstrip()}")
                    hear(line)
                child.wait()
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
    if child.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise RunError(
            f"the {order.system} run failed with exit code {child.returncode}:\n{tail}", where=label
        )
    return json.loads(Path(order.outcome).read_text()), peak.bytes
