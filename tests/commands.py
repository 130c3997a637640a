"""The `dovetail` command in this process, and what it imports in one of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from dovetail.service.cli import main as cli


def run_command(*arguments: str) -> int:
    """Run a command; gives its exit status."""
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    return int(ended.value.code or 0)


def imported_by(arguments: Sequence[str], names: Sequence[str]) -> list[str]:
    """Which of these modules a command has imported when it ends, without an error."""
    code = (
        "import sys\nfrom dovetail.service.cli.main import main\n"
        f"try:\n    main({list(arguments)!r})\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print('imported', *[name for name in {tuple(names)!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()[1:]
