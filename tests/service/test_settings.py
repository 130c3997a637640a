"""The settings table: who wins, what is refused, and that its page is current."""

from __future__ import annotations

import pytest

from dovetail.errors import SettingError
from dovetail.service.checkout import checkout_root
from dovetail.service.settings import (
    DRIVER_MEMORY,
    HOME,
    INDEX_DIR,
    SETTINGS,
    debugging,
    index_dir,
    to_markdown,
)


def test_option_over_environment_over_default() -> None:
    environment = {"DOVETAIL_HOME": "there"}
    assert HOME.read("here", environment) == "here"
    assert HOME.read(None, environment) == "there"
    assert HOME.read(None, {}) == HOME.read(None, {"DOVETAIL_HOME": ""}) == ".dovetail"


def test_a_bad_value_names_its_place_and_what_is_expected() -> None:
    with pytest.raises(SettingError) as error:
        DRIVER_MEMORY.read(None, {"DOVETAIL_DRIVER_MEMORY": "lots"})
    assert error.value.where == "DOVETAIL_DRIVER_MEMORY"
    assert error.value.expected == "a number and k, m, g or t"
    assert "2g" in str(error.value.hint)


def test_index_dir_is_a_directory_by_default_and_what_is_given_otherwise() -> None:
    assert index_dir(None, {}).startswith("/")
    assert index_dir(None, {INDEX_DIR.variable: "somewhere"}) == "somewhere"
    assert index_dir("elsewhere", {INDEX_DIR.variable: "somewhere"}) == "elsewhere"


def test_debugging() -> None:
    assert [debugging({"DOVETAIL_DEBUG": value}) for value in ("", "0", "1", "yes")] == [
        False,
        False,
        True,
        True,
    ]
    assert not debugging({})


def test_every_setting_is_told_apart() -> None:
    assert len({s.name for s in SETTINGS}) == len({s.variable for s in SETTINGS}) == len(SETTINGS)
    assert all(s.variable.startswith("DOVETAIL_") and s.sentence.endswith(".") for s in SETTINGS)


def test_the_reference_page_is_current() -> None:
    page = checkout_root() / "docs/reference/settings.md"
    assert page.read_text() == to_markdown(), "write it again: dovetail settings --markdown"
