"""`dovetail bench`: finds files by name, shows their first line, hands over their own options."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import run_command
from dovetail.errors import InputError
from dovetail_dev.bench_command import benchmarks, load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bench = tmp_path / "bench"
    bench.mkdir()
    (bench / "fast.py").write_text(
        '"""How fast.\n\nMore."""\ndef main(argv):\n    print(argv)\n    return 3\n'
    )
    (bench / "workload.py").write_text('"""Not a benchmark."""\n')
    return bench


def test_lists_what_has_a_main(folder: Path) -> None:
    assert benchmarks(folder) == {"fast": "How fast."}


def test_hands_over_options_and_takes_the_status(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dovetail_dev.bench_command.checkout_root", lambda: folder.parent)
    assert run_command("bench", "fast", "--rows", "5", "--json", "--help") == 3
    assert capsys.readouterr().out == "['--rows', '5', '--json', '--help']\n"


def test_an_unknown_one_is_answered_with_the_list(folder: Path) -> None:
    with pytest.raises(InputError, match="no benchmark 'slow'") as error:
        load(folder, "slow")
    assert error.value.expected == "fast"
