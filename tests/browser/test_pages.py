"""Pages in a real browser: without scripts, by keyboard, in the dark, with nasty rows, two at once, over
night."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from browser.conftest import Service
from dovetail.log.ingest.append import append_file
from dovetail.log.ingest.source import InputFile
from dovetail.service.keeping import verbs
from dovetail.service.server.app import FOLDER
from dovetail.service.server.ledger import ServiceLedger, ledger_path
from dovetail.service.server.pinned import PINNED
from service.serving import QUERY

if TYPE_CHECKING:
    from playwright.sync_api import Page

CLICKS = QUERY.format(name="clicks")


def test_scripts_of_others_are_what_was_pinned() -> None:
    """A hash in the page makes a browser refuse any other bytes. This needs no browser."""
    for name, pinned in PINNED.items():
        found = hashlib.sha384((FOLDER / "static" / name).read_bytes()).digest()
        assert pinned == f"sha384-{base64.b64encode(found).decode()}"
    used = {
        name
        for path in (FOLDER / "templates").iterdir()
        for name in re.findall(r"pinned\['(.+?)'\]", path.read_text())
    }
    assert used == set(PINNED)


def test_pages_can_be_read_without_scripts(service: Service, person: Callable[..., Page]) -> None:
    link = service.start()
    verbs.create(service.home, CLICKS, by="ada")
    page = person(java_script_enabled=False)
    page.goto(link)
    assert "clicks" in page.inner_text("main table")
    for path in (
        "/applications/clicks",
        "/applications/clicks/edit",
        "/applications/clicks/aside",
        "/log",
        "/new",
    ):
        answer = page.goto(service.address + path)
        assert answer is not None
        assert answer.status == 200, path
        assert page.locator("main h1").count() == 1
    page.fill("#text", CLICKS.replace("SELECT eventtime", "SELECT nothing"))
    page.click("button:text-is('Deploy')")
    assert "nothing" in page.inner_text(".finding >> nth=0")
    _people_and_tokens(page)


def _people_and_tokens(page: Page) -> None:
    """The first user, a role for a group, and a token that is shown once and revoked: by clicks."""
    page.click("nav >> text=Users")
    form = page.locator("form:has(button:text-is('Add the user'))")
    form.locator("[name=name]").fill("ada")
    form.locator("[name=password]").fill("four words are long enough")
    form.locator("[name=groups]").fill("ads")
    form.locator("button").click()
    page.wait_for_selector("main table >> nth=0 >> text=with a password")
    form = page.locator("form:has(button:text-is('Grant the role'))")
    form.locator("[name=name]").fill("@ads")
    form.locator("[name=role]").select_option("deployer")
    form.locator("button").click()
    page.wait_for_selector("main table >> nth=1 >> tr:has-text('@ads'):has-text('deployer')")
    page.click("nav >> text=Tokens")
    page.fill("[name=name]", "ci")
    page.click("button:text-is('Make the token')")
    secret = page.inner_text("#secret")
    assert len(secret) > 40
    page.click("nav >> text=Tokens")
    page.wait_for_selector("#secret", state="detached")
    page.click("button:text-is('Revoke')")
    page.wait_for_selector("main table:has-text('There are no tokens')")


def test_by_keyboard_and_for_readers_of_the_screen(service: Service, person: Callable[..., Page]) -> None:
    page = person()
    page.goto(service.start())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    verbs.create(service.home, CLICKS, by="ada")
    for path in ("/", "/applications/clicks", "/new", "/log", "/access", "/tokens"):
        page.goto(service.address + path)
        assert page.evaluate("document.documentElement.lang") == "en"
        nameless = page.evaluate(
            """[...document.querySelectorAll('input:not([type=hidden]), textarea, select, button, a')]
               .filter((e) => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).length"""
        )
        assert nameless == 0, path
        assert page.locator("h1").count() == 1
        assert page.locator("img:not([alt])").count() == 0


def test_light_and_dark(service: Service, person: Callable[..., Page]) -> None:
    link = service.start()
    seen = {}
    for scheme in ("light", "dark"):
        page = person(color_scheme=scheme)
        page.goto(f"{service.address}/login?link={ServiceLedger(ledger_path(service.home)).new_link()}")
        seen[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert seen["light"] == "rgb(255, 255, 255)"
    assert seen["dark"] == "rgb(20, 24, 28)"
    assert link


def test_an_error_is_underlined_where_it_is(service: Service, person: Callable[..., Page]) -> None:
    page = person()
    page.goto(service.start())
    page.goto(f"{service.address}/new")
    page.fill("#text", CLICKS.replace("SELECT eventtime, ad", "SELECT nothing, ad"))
    page.wait_for_selector(".marks mark", state="attached")
    assert page.inner_text(".marks mark >> nth=0") == "nothing"
    page.click(".finding >> nth=0")
    assert page.evaluate("getSelection().toString() || document.activeElement.id") in ("nothing", "text")


def test_a_rows_text_is_text(service: Service, person: Callable[..., Page], tmp_path: Path) -> None:
    """The fixture fails if any dialog opens or any script fails."""
    nasty = '<script>alert(1)</script><img src=x onerror="alert(2)"><svg onload=alert(3)>'
    file = tmp_path / "rows.jsonl"
    row = {"eventtime": "2026-01-01T00:00:00Z", "ad": 1, nasty: nasty}
    file.write_text(json.dumps(row))
    page = person()
    page.goto(service.start())
    append_file(service.home, "clicks", InputFile(str(file), file.stat().st_size), kind="json")
    page.goto(f"{service.address}/log/clicks")
    assert nasty in page.inner_text("main table >> nth=-1")
    assert page.locator("main script, main img, main svg").count() == 0
    page.goto(f"{service.address}/new")
    page.fill("#text", CLICKS.replace("campaign FROM", f"'{nasty}' AS campaign FROM"))
    page.wait_for_selector("#checked svg")
    assert page.locator("#checked script, #checked img").count() == 0


def test_two_people_who_change_one_application_do_not_overwrite_each_other(
    service: Service, person: Callable[..., Page]
) -> None:
    link = service.start()
    verbs.create(service.home, CLICKS, by="ada")
    first, second = person(), person()
    first.goto(link)
    second.goto(f"{service.address}/login?link={ServiceLedger(ledger_path(service.home)).new_link()}")
    for page, bound in ((first, "2 minutes"), (second, "3 minutes")):
        page.goto(f"{service.address}/applications/clicks/edit")
        page.fill("#text", CLICKS.replace("1 minute", bound))
    first.click("text=Deploy the change")
    first.wait_for_url("**/applications/clicks")
    second.click("text=Deploy the change")
    second.wait_for_selector(".finding:has-text('was changed by admin meanwhile')")
    assert "3 minutes" in second.input_value("#text"), "what the second has written is still there"
    verbs.stop(service.home, "clicks", by="test")


def test_a_page_left_open_over_night_goes_on(service: Service, person: Callable[..., Page]) -> None:
    page = person()
    page.goto(service.start())
    page.goto(f"{service.address}/new")
    page.fill("#text", CLICKS)
    with sqlite3.connect(ledger_path(service.home)) as ledger:
        ledger.execute("UPDATE sessions SET ends = 0")
    ledger.close()
    page.wait_for_selector("#notice:has-text('Your session is over')")
    other = page.context.new_page()
    other.goto(f"{service.address}/login?link={ServiceLedger(ledger_path(service.home)).new_link()}")
    page.wait_for_selector("#notice", state="hidden")
    assert page.input_value("#text") == CLICKS
    service.stop()
    page.wait_for_selector("#notice:has-text('does not answer')")
    service.start()
    page.wait_for_selector("#notice", state="hidden")
    page.fill("#text", CLICKS + "\n")
    page.wait_for_selector("text=No mistakes found.")
    assert page.locator("text=does not come from a page").count() == 0, "the new session's secret is used"
