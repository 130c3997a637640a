"""What `bench soak` takes for growth, which pairs it counts as wrong, and what processes hold."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from bench.live_traffic import Traffic
from bench.process_memory import held_by
from bench.soak import PAGE, main, read, write
from bench.soak_child import Tally
from bench.soak_report import LINES, Soaked, verdict

from dovetail.errors import InputError

MEMORY = next(line for line in LINES if line.name == "total_bytes")


def soaked(per_hour: float, noise: float = 0.0, wrong: int = 0) -> Soaked:
    """An hour of samples of about 1,000 MiB that grow by a share of it, after ten minutes of anything."""
    random = np.random.default_rng(3)
    seconds = np.arange(0, 4200, 5.0)
    sizes = 1000 * (1 + per_hour * (seconds - 600) / 3600) + random.normal(0, noise or 1e-6, len(seconds))
    sizes[seconds < 600] = 5
    samples = [
        {"s": float(s), "total_bytes": float(size * 2**20)} for s, size in zip(seconds, sizes, strict=True)
    ]
    return Soaked(samples, warm_up_s=600, missing=0, wrong=wrong)


@pytest.mark.parametrize(
    ("per_hour", "noise", "grows"),
    [(0.0, 0.0, False), (0.1, 0.0, True), (0.1, 20.0, True), (0.0, 20.0, False), (0.01, 0.0, False)],
)
def test_growth_is_sure_and_more_than_a_drift(per_hour: float, noise: float, grows: bool) -> None:
    found = soaked(per_hour, noise)
    slope = found.slope_per_hour(MEMORY)
    assert slope is not None
    assert slope.per_x == pytest.approx(1000 * per_hour, abs=1e-3 + noise)
    assert found.grows(MEMORY) is grows
    assert found.level is not grows
    assert verdict(found) == ("slope of memory in all" if grows else "no slope")
    assert [row[-1] for row in found.table().rows] == ["SLOPE" if grows else "no slope"]
    assert found.to_json()["slopes"]["total_bytes"]["grows"] is grows


def docs(folder: Path) -> tuple[Path, Path]:
    """A page with a place for the table, and where its picture belongs."""
    page, picture = folder / "how-to/page.md", folder / "pictures/soak.svg"
    page.parent.mkdir()
    picture.parent.mkdir()
    page.write_text("before\n<!-- table: soak -->\nold\n<!-- end -->\nafter\n")
    return page, picture


def test_a_page_gets_table_and_plot(tmp_path: Path) -> None:
    page, picture = docs(tmp_path)
    write(soaked(0.1, 20.0), page, picture)
    text = page.read_text()
    assert text.startswith("before\n<!-- table: soak -->\n\nOne run, 60 minutes after a warm-up of 10")
    assert "](../pictures/soak.svg)" in text
    assert "| memory in all, MiB | 1,0" in text
    assert "SLOPE |" in text
    assert "slope of memory in all; 0 pairs were not out at the end, 0 were wrong." in text
    assert "old" not in text
    assert text.endswith("<!-- end -->\nafter\n")
    assert "memory (PSS), MiB" in picture.read_text()


def test_a_run_that_cannot_be_shown_leaves_the_page_as_it_was(tmp_path: Path) -> None:
    page, picture = docs(tmp_path)
    before = page.read_text()
    for found, why in ((soaked(0.0, wrong=2), "2 wrong pairs"), (Soaked([], 600, 0, 0), "too few samples")):
        with pytest.raises(InputError, match=why):
            write(found, page, picture)
    assert page.read_text() == before
    assert not picture.exists()


def test_the_page_has_a_place_for_the_table() -> None:
    assert "<!-- table: soak -->" in PAGE.read_text()


def test_a_run_is_shown_again_from_its_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = soaked(0.1, 20.0)
    said = tmp_path / "soak.json"
    said.write_text(json.dumps(found.to_json()))
    assert read(said) == found
    plot = tmp_path / "soak.svg"
    assert main(["--from", str(said), "--plot", str(plot), "--json"]) == 1  # it grows
    assert json.loads(capsys.readouterr().out) == found.to_json()
    assert plot.exists()


@pytest.mark.parametrize("text", ["", "[]", '{"level": true}'])
def test_a_file_without_samples_is_refused(tmp_path: Path, text: str) -> None:
    said = tmp_path / "soak.json"
    said.write_text(text)
    with pytest.raises(InputError, match="no samples of a soak"):
        read(said)
    assert main(["--from", str(said)]) == 1


def test_the_page_shows_runs_of_dovetail(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["--system", "spark", "--write", "--from", str(tmp_path / "soak.json")])


def test_a_pair_counts_once() -> None:
    tally = Tally(Traffic(8, 8, 5, 0.5))
    tally.began_at = 100.0
    pairs = tally.missing
    tally.take(103.0, pa.table({"key": np.arange(pairs)}))
    assert (tally.missing, tally.wrong) == (0, 0)
    assert len(tally.latencies()) == pairs
    assert len(tally.latencies()) == 0
    tally.take(104.0, pa.table({"key": np.array([0, pairs])}))
    assert tally.wrong == 2


def test_a_process_holds_memory_and_handles() -> None:
    mine = held_by(os.getpid())["driver"]
    assert mine.processes == 1
    assert mine.pss_bytes > 2**20
    assert mine.handles > 0
