"""From an empty home, by clicks: a join deployed, seen to run, changed, rolled back and explained."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from browser.conftest import Service
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.source import InputFile
from dovetail.service.checkout import checkout_root

if TYPE_CHECKING:
    from playwright.sync_api import Page

EXAMPLES = checkout_root() / "examples"


def test_by_clicks_from_an_empty_home_to_a_join_that_is_explained(
    service: Service, person: Callable[..., Page], picture: Callable[[Page, str], None]
) -> None:
    page = person()
    page.goto(service.start())
    assert "No applications yet." in page.inner_text("main")
    for name in ("clicks", "impressions"):  # as `dovetail log append` does
        file = EXAMPLES / f"{name}.jsonl"
        append_file(service.home, name, InputFile(str(file), file.stat().st_size), kind="json")

    page.click("text=Write the first one")
    page.fill("#text", (EXAMPLES / "first.pql").read_text())
    page.wait_for_selector("text=No mistakes found.")
    page.click("text=Dry run on the newest rows")
    page.wait_for_selector("#tried table")
    picture(page, "portal-editor")
    page.click("button:text-is('Deploy')")
    page.wait_for_url("**/applications/clicks")
    page.wait_for_selector("#figures .state.running")
    page.wait_for_selector("#graph svg")

    page.click("text=Result rows")
    page.wait_for_selector("main tbody tr")
    picture(page, "portal-rows")

    page.goto(f"{service.address}/applications/clicks")
    page.click("text=Change the query")
    text = page.input_value("#text")
    page.fill("#text", text.replace("INTERVAL '10 minutes'", "INTERVAL '20 minutes'"))
    page.wait_for_selector("text=What would change")
    page.click("text=Deploy the change")
    page.wait_for_selector("#figures .state.running")
    until_version(page, 2)
    page.click("text=Differences from version 1")
    assert "20 minutes" in page.inner_text(".diff ins >> nth=1")
    page.go_back()

    page.click("summary:has-text('version 1')")
    page.click("text=Roll back to version 1")
    until_version(page, 3)
    page.wait_for_selector("#figures .state.running")
    picture(page, "portal-application")

    page.click("nav.tabs >> text=Why")
    page.fill("input[name=key]", "1")
    page.click("button:text-is('Why')")
    page.wait_for_selector("svg.time-line circle")
    picture(page, "portal-why")

    page.click("nav >> text=Log")
    page.click("main >> text=impressions")
    assert "campaign" in page.inner_text("main")
    page.goto(f"{service.address}/applications/clicks")
    page.click("button:text-is('Stop')")
    page.wait_for_selector("#figures .state.stopped")
    picture(page, "portal-stopped")


def until_version(page: Page, number: int) -> None:
    """Versions are listed when a page is loaded."""
    for _ in range(180):
        page.reload()
        if page.locator(f"#versions strong:text-is('version {number}')").count():
            return
        page.wait_for_timeout(1_000)
    raise AssertionError(f"version {number} does not come")
