"""A real Chromium, and a real service on loopback with an empty home."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dovetail_dev.ports import free_port
from dovetail_dev.spark_cluster import until
from leftovers import end_all

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 180_000
"""For what Spark takes to start on a machine that does other things, too."""
PICTURES = os.environ.get("DOVETAIL_PICTURES")
"""A folder for screenshots; the pictures of the docs are made with it."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Not for the whole session: while it is open, no other event loop can run in its thread."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine: `apt-get install chromium` brings one")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Service:
    """`dovetail serve` in a process of its own, that can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.home, self.log, self.folder = str(folder / "home"), folder / "serve.log", folder
        self.port = free_port()  # for when it is started again
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Gives the link."""
        self.log.write_bytes(b"")
        command = [sys.executable, "-m", "dovetail.service.cli.main", "serve", "--home", self.home]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--port", str(self.port)], stdout=log, stderr=log, cwd=self.folder
            )
        until(lambda: "login?link=" in self.log.read_text(), "the service listens")
        found = re.search(r"http://\S+:(\d+)/login\S+", self.log.read_text())
        assert found is not None
        self.port = int(found[1])
        return found[0]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    try:
        yield made
    finally:
        if made.process is not None and made.process.poll() is None:
            made.stop()
        end_all(made.home)


@pytest.fixture
def person(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Somebody with a browser of their own; a script that fails, or that a policy forbids, fails the test."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def opened(**options: object) -> Page:
        context = chromium.new_context(viewport={"width": 1180, "height": 900}, **options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("console", lambda said: wrong.append(said.text) if "Content Security" in said.text else None)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def picture() -> Callable[[Page, str], None]:
    def take(page: Page, name: str) -> None:
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/{name}.png")

    return take
