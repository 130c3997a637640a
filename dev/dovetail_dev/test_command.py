"""`dovetail test [TIER...] [-- PYTEST ARGUMENTS]`: the project's own tests, cheap tiers first.

Law: the exit status is 0 only if every tier that was asked for ran something and all of it passed. The last
line is the total over all tiers, `N passed, N failed`, alone on its line; a lint check counts as one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from xml.etree import ElementTree

import typer
from typer.core import TyperCommand

from dovetail.errors import InputError
from dovetail.service.checkout import checkout_root

NOTHING_RAN = 5  # pytest's own status for it
IN_MEMORY, ROOM_BYTES = Path("/dev/shm"), 6 << 30
"""The log syncs every file that it writes, and tests write very many small ones: on a disk they wait for that
most of the time. What a test shows does not depend on it, because no test cuts the power. So their files are
in memory, where a machine has room for them."""
DEV = Path(__file__).parent.parent
CORES = os.cpu_count() or 1
ONE_MORE = CORES + 1
"""A quarter of the time these tests wait: for servers that they have started, and for processes that die."""
SESSIONS = 1 + min(2, CORES)
"""Tests from end to end mostly wait: for a JVM to start, for a trigger, for a query to stop. Three processes,
each with a session of its own, keep two cores at work. More would need more memory than a laptop has."""
SHORT_LIVED = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1"}
"""A JVM of a test is gone before its second compiler has paid for itself: without that compiler these tests
need a sixth less of the cores."""
AHEAD = tuple((sys.executable, "-m", f"dovetail_dev.{name}") for name in ("compile_ahead", "fetch_ahead"))
"""What a clean machine lacks and tests would wait for: kernels, and the servers that they start."""
THOROUGH = {"HYPOTHESIS_PROFILE": "thorough"}
MORE_QUERIES = {"DOVETAIL_RANDOM_QUERIES": "500"}


@dataclass(frozen=True)
class Tier:
    """A group of tests with its own cost. Lint has no `folders`. A tier that is not `usual` runs only when it
    is named."""

    name: str
    sentence: str
    folders: tuple[str, ...] = ()
    processes: int = CORES
    environment: Mapping[str, str] = field(default_factory=dict)
    usual: bool = True


TIERS = (
    Tier("lint", "ruff, mypy --strict, import layers, bandit"),
    Tier(
        "pure",
        "functions, golden files, commands, the repository itself",
        ("tests/unit", "tests/golden", "tests/stories", "tests/repo", "tests/service"),
        processes=ONE_MORE,
    ),
    Tier(
        "laws",
        "properties of every join, and outside witnesses",
        ("tests/laws", "tests/differential"),
    ),
    Tier(
        "faults",
        "arrivals on a simulated clock, and processes that die",
        ("tests/simulation", "tests/faults"),
        processes=ONE_MORE,
    ),
    Tier(
        "whole",
        "end to end: on Spark, in a browser, with a Kafka broker",
        ("tests/spark", "tests/browser", "tests/connectors"),
        processes=SESSIONS,
        environment=SHORT_LIVED,
    ),
    Tier(
        "spark",
        "of these, what needs Spark",
        ("tests/spark",),
        processes=SESSIONS,
        environment=SHORT_LIVED,
        usual=False,
    ),
    Tier(
        "browser",
        "the portal in a real Chromium",
        ("tests/browser",),
        processes=1,
        environment=SHORT_LIVED,
        usual=False,
    ),
    Tier(
        "connectors",
        "with a Kafka broker that the tests start",
        ("tests/connectors",),
        processes=SESSIONS,
        environment=SHORT_LIVED,
        usual=False,
    ),
    Tier(
        "full",
        "every join type, pick, window, home, exhibit and kill",
        ("tests/unit", "tests/spark", "tests/connectors"),
        processes=SESSIONS,
        environment={**SHORT_LIVED, **THOROUGH},
        usual=False,
    ),
    Tier(
        "search",
        "laws and faults on thousands of new examples, for hours",
        ("tests/laws", "tests/differential", "tests/simulation", "tests/faults"),
        environment={**THOROUGH, **MORE_QUERIES, "FUZZ_MUTANTS": "100000"},
        usual=False,
    ),
    Tier(
        "fuzz",
        "ten thousand requests made up from the API's description",
        ("tests/service/fuzzed",),
        processes=1,
        environment={"DOVETAIL_FUZZED_REQUESTS": "10000"},
        usual=False,
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What a tier did."""

    status: int
    passed: int = 0
    failed: int = 0
    skipped: int = 0


Runner = Callable[[Sequence[str], Path, Mapping[str, str]], int]


def run_visibly(command: Sequence[str], root: Path, environment: Mapping[str, str]) -> int:
    sys.stdout.flush()
    return subprocess.run(command, cwd=root, check=False, env={**os.environ, **environment}).returncode


def run_lint(root: Path, runner: Runner) -> Outcome:
    """Every check runs even if one before it fails: all complaints at once."""
    python = sys.executable
    lint_imports = str(Path(python).with_name("lint-imports"))
    checks = (
        (python, "-m", "ruff", "check", "."),
        (python, "-m", "ruff", "format", "--check", "."),
        (python, "-m", "mypy"),
        (lint_imports, "--no-logo"),
        (python, "-m", "bandit", "-q", "-ll", "-c", "pyproject.toml", "-r", "src"),
    )
    codes = [runner(check, root, {}) for check in checks]
    failed = sum(code != 0 for code in codes)
    return Outcome(next((code for code in codes if code), 0), len(codes) - failed, failed)


@contextmanager
def preparing_beside(tiers: Sequence[Tier]) -> Iterator[None]:
    """While lint runs, which needs one core, the other gets ready what the tests that follow need."""
    if not {"lint", "pure"} <= {tier.name for tier in tiers}:
        yield
        return
    path = os.pathsep.join(filter(None, (str(DEV), os.environ.get("PYTHONPATH"))))
    ahead = [subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}) for command in AHEAD]
    try:
        yield
    finally:
        for process in ahead:
            process.terminate()
        for process in ahead:
            process.wait()


def run_pytest(tier: Tier, root: Path, extra: Sequence[str], runner: Runner) -> Outcome:
    """One pytest process; counts come from its JUnit file, so a crash before the end counts as no test
    run.
    """
    folders = [folder for folder in tier.folders if (root / folder).is_dir()]
    if not folders:
        print(f"none of {', '.join(tier.folders)} exists")
        return Outcome(NOTHING_RAN)
    with tempfile.TemporaryDirectory(prefix="dovetail-test-", dir=quick_folder()) as scratch:
        report = Path(scratch) / "junit.xml"
        spread = [f"--numprocesses={tier.processes}", "--dist=worksteal"]  # tests differ much in length
        said = ["-q", "--durations=8", "--durations-min=5", f"--junitxml={report}"]
        files = [f"--basetemp={scratch}/files"]
        command = [sys.executable, "-m", "pytest", *said, *spread, *files, *folders, *extra]
        return count(report, runner(command, root, tier.environment))


def quick_folder() -> Path | None:
    """Where files are in memory; None: as any temporary file."""
    try:
        return IN_MEMORY if shutil.disk_usage(IN_MEMORY).free >= ROOM_BYTES else None
    except OSError:
        return None


def count(report: Path, status: int) -> Outcome:
    """Read a JUnit file. An error in a fixture or at import is a failure."""
    if not report.exists():
        return Outcome(status or NOTHING_RAN)
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    total, failures, errors, skipped = (
        sum(int(suite.get(name, 0)) for suite in suites)
        for name in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    ran = total - skipped
    return Outcome(status or (0 if ran else NOTHING_RAN), max(0, ran - failed), failed, skipped)


def run_tiers(tiers: Sequence[Tier], root: Path, extra: Sequence[str], runner: Runner = run_visibly) -> int:
    """Run in order, stop at the first that fails, and end with the totals.

    With extra arguments (`-k`, a node id) a tier may select nothing; only selecting nothing at all is a
    failure.
    """
    outcomes: list[Outcome] = []
    status = 0
    for tier in tiers:
        print(f"\n== {tier.name}: {tier.sentence}")
        started = time.monotonic()
        outcome = run_pytest(tier, root, extra, runner) if tier.folders else run_lint(root, runner)
        outcomes.append(outcome)
        print(
            f"== {tier.name}: {outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped "
            f"in {time.monotonic() - started:.1f} s"
        )
        if outcome.status == NOTHING_RAN and extra:
            continue
        if outcome.status != 0:
            status = outcome.status
            print(
                f"== stopped: {tier.name} "
                + ("ran no test" if status == NOTHING_RAN else f"ended with {status}")
            )
            break
    passed, failed = sum(o.passed for o in outcomes), sum(o.failed for o in outcomes)
    if status == 0 and passed == 0:
        status = NOTHING_RAN
    print(f"\n{passed} passed, {failed} failed", flush=True)
    return status


class SplitAtDashes(TyperCommand):
    """Arguments after `--` are pytest's and are not parsed here."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        cut = args.index("--") if "--" in args else len(args)
        ctx.obj = args[cut + 1 :]
        return super().parse_args(ctx, args[:cut])


app = typer.Typer(add_completion=False)


def _names(incomplete: str) -> list[str]:
    return [tier.name for tier in TIERS if tier.name.startswith(incomplete)]


@app.command("test", cls=SplitAtDashes)
def run_tests(
    context: typer.Context,
    tiers: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tiers to run. Without any, lint, pure, laws, faults and whole run in order.",
            autocompletion=_names,
        ),
    ] = None,
    list_tiers: Annotated[bool, typer.Option("--list", help="List the tiers.")] = False,
) -> None:
    """Run the project's own tests. Arguments after `--` go to pytest."""
    if list_tiers:
        for tier in TIERS:
            print(f"{tier.name:<10} {tier.sentence:<56}", *tier.folders)
        return
    known = {tier.name: tier for tier in TIERS}
    for name in tiers or ():
        if name not in known:
            raise InputError(
                f"there is no tier {name!r}",
                expected=", ".join(known),
                hint="dovetail test --list describes them",
            )
    usual = [tier.name for tier in TIERS if tier.usual]
    asked = [known[name] for name in dict.fromkeys(tiers or usual)]
    with preparing_beside(asked):
        raise typer.Exit(run_tiers(asked, checkout_root(), context.obj))
