"""The documentation builds as a site without a warning, needs nothing from the network, and its pictures are
those that its script draws."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.service.checkout import checkout_root

ROOT = checkout_root()
LOADED = re.compile(r"<(?:script|img|link|iframe)[^>]*?(?:src|href)=[\"']?(?:https?:)?//[^\s>]*")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # not about our pages
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


def test_it_begins_with_the_tutorial(site: Path) -> None:
    assert "<h1" in (site / "index.html").read_text()
    assert "Tutorial: join two live streams" in (site / "index.html").read_text()


def test_it_has_every_page_and_the_architecture(site: Path) -> None:
    pages = [page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")]
    assert [str(page) for page in (*pages, Path("architecture.html")) if not (site / page).exists()] == []


def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    assert {found for page in site.rglob("*.html") for found in LOADED.findall(page.read_text())} == set()


def test_the_pictures_are_those_that_are_drawn(tmp_path: Path) -> None:
    pictures = ROOT / "docs/pictures"
    copy = tmp_path / "draw.py"
    copy.write_text((pictures / "draw.py").read_text())
    subprocess.run([sys.executable, str(copy)], check=True)
    drawn = sorted(tmp_path.glob("*.svg"))
    assert drawn
    assert [path.name for path in drawn if path.read_text() != (pictures / path.name).read_text()] == []


def test_every_picture_is_on_a_page() -> None:
    pages = "".join(page.read_text() for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    assert [path.name for path in (ROOT / "docs").rglob("*.svg") if f"{path.name})" not in pages] == []
