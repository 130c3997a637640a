"""A few kills of the service: everything, a pool and the daemon, while applications are deployed and changed.
`dovetail torture --service 200` does the same for an hour or more."""

from __future__ import annotations

from pathlib import Path

from dovetail.service.torture.service_case import run_service
from laws.effort import in_full


@in_full
def test_whatever_is_killed_what_is_wanted_runs_once_and_every_pair_comes_out_once(tmp_path: Path) -> None:
    killed = run_service(3, 3, tmp_path, lambda line: None)
    assert killed.total() == 3
    assert len(killed) > 1
