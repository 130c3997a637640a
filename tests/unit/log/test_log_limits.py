"""Rows go when they are too old or too many, unless a reader that is still there needs them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from dovetail.errors import CorruptFile
from dovetail.log import compaction, definition, document, history, retention
from dovetail.log.category import Category
from dovetail.log.compaction import FileShape
from dovetail.log.limits import DEFAULTS, ROLES, Limits, Role, keep, set_limits
from home_files import begin, change, content, end, everything

DAY_US = 86_400_000_000
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
Made = Callable[[Role], Category]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The clock of writers and retention, to set."""
    clock = [time.time_ns() // 1000]
    monkeypatch.setattr(time, "time_ns", lambda: clock[0] * 1000)
    return clock


@pytest.fixture
def made(homes: Callable[[str], str]) -> Made:
    return lambda role: Category.create(homes("home"), f"app.{role}", SCHEMA, buckets=4, role=role)


@pytest.mark.parametrize("role", ROLES)
def test_every_category_has_limits(made: Made, put: Any, role: Role, now: list[int]) -> None:
    """A day between commits: what an application writes goes after a week, what people append stays."""
    category = made(role)
    for number in range(10):
        put(category, number * 10)
        now[0] += DAY_US
    assert category.retain() == (3 if DEFAULTS[role].age_us else 0)
    assert category.limits() == DEFAULTS[role]


def test_what_a_query_says_holds_and_what_it_does_not_say_stays(made: Made) -> None:
    category = made("output")
    keep(category, None, None)
    assert category.limits() == DEFAULTS["output"]
    keep(category, DAY_US, None)
    assert category.limits() == Limits(DAY_US, DEFAULTS["output"].size_bytes)
    set_limits(category, Limits(None, 7))
    keep(category, None, None)
    assert category.limits() == Limits(None, 7)
    keep(category, None, 8)
    assert category.limits() == Limits(None, 8)
    keep(category, DAY_US, 9)
    assert category.limits() == Limits(DAY_US, 9)


@pytest.mark.parametrize("role", [role for role in ROLES if DEFAULTS[role].age_us])
def test_whoever_appends_sees_to_it(
    made: Made, put: Any, role: Role, now: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SHAPE", FileShape(span=4, fan=3, recent=2))
    category = made(role)
    for number in range(40):
        put(category, number * 10)
        now[0] += DAY_US
    assert category.next_commit() - category.first_commit() <= 7 + 4
    assert len(everything(category)) < 40


def test_by_size(category: Category, put: Any, ids: Any) -> None:
    for number in range(10):
        put(category, 1000 + number * 10)
    size = category.commit(9).stored_bytes
    set_limits(category, Limits(None, 4 * size + size // 2))
    assert category.retain() == 6
    assert category.retain() == 0
    assert sorted(ids(category)) == [*range(1060, 1100)]
    set_limits(category, Limits(None, 0))
    assert category.retain() == 3
    assert sorted(ids(category)) == [*range(1090, 1100)]


def test_by_size_in_bundles(category: Category, put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of a bundle in the middle of which the log begins does not count."""
    monkeypatch.setattr(compaction, "SHAPE", FileShape(span=4, fan=3, recent=2))
    for number in range(30):
        put(category, 1000 + number * 10)
    size = category.commit(9).stored_bytes
    set_limits(category, Limits(None, 20 * size))
    assert category.retain() == 10
    assert category.retain() == 0
    assert sorted(ids(category)) == [*range(1100, 1300)]


def test_a_reader_holds_rows_back_beyond_the_limits(made: Made, put: Any, now: list[int]) -> None:
    """The rows are a month old, and the mark is of today."""
    category = made("view")
    begin(category, "app")
    now[0] -= 30 * DAY_US
    for number in range(6):
        put(category, number * 10)
    now[0] += 30 * DAY_US
    category.set_reader("app.next", 2, application="app")
    assert category.retain() == 2
    end(category, "app")
    (mark,) = category.marks()
    assert mark.gone == "application app is no longer in this home"
    assert category.readers() == {}
    assert category.retain() == 3


def test_a_mark_that_nobody_renews_expires_with_the_rows(made: Made, put: Any, now: list[int]) -> None:
    category = made("output")
    for number in range(6):
        put(category, number * 10)
    category.set_reader("notebook", 1)
    assert category.retain(now_us=now[0] + 6 * DAY_US) == 1
    assert category.retain(now_us=now[0] + 8 * DAY_US) == 4


def test_without_a_limit_of_age_a_mark_never_expires(category: Category, put: Any, now: list[int]) -> None:
    for number in range(6):
        put(category, number * 10)
    category.set_reader("notebook", 1)
    assert category.retain(now_us=now[0] + 3650 * DAY_US) == 1


def test_a_removed_application_holds_back_no_input(category: Category, put: Any) -> None:
    for name in ("stays", "goes"):
        begin(category, name)
    for number in range(6):
        put(category, number * 10)
    category.set_reader("goes.v", 1, application="goes")
    category.set_reader("stays.v", 4, application="stays")
    assert category.retain() == 1
    end(category, "goes")
    assert category.retain() == 3


def test_the_side_of_a_removed_application_is_of_no_use(made: Made, put: Any) -> None:
    category = made("side")
    for number in range(6):
        put(category, number * 10)
    assert category.retain() == 0
    category.set_reader("app.v", 0, application="app")  # whose folder is not there
    assert category.retain() == 5


@pytest.mark.parametrize(
    ("name", "columns", "role"),
    [
        ("clicks", ["id"], "input"),
        ("clicks.v2", ["id"], "input"),
        ("shop.joined", ["id"], "view"),
        ("shop.rejects.clicks", ["id"], "rejects"),
        ("shop.joined.left", ["_hash", "_time", "id"], "side"),
        ("shop.joined.left.invalid", ["_reason", "id"], "invalid"),
    ],
)
def test_categories_of_older_releases_have_a_role_too(
    homes: Callable[[str], str], name: str, columns: list[str], role: Role, forget: Callable[[], None]
) -> None:
    """Their `category.json` says none, and `first.json` and the readers' marks have version 1."""
    schema = pa.schema([(column, pa.int64()) for column in columns])
    category = Category.create(homes("home"), name, schema, buckets=1)
    begin(category, "shop")
    body = document.decode(content(category, "category.json"), definition.KIND, 1, where="", remedy="")
    del body["role"]
    change(category, "category.json", document.encode(definition.KIND, 1, body))
    first = {"category": category.id, "first_commit": 0}
    change(category, "first.json", document.encode(history.KIND, 1, first))
    mark = {"category": category.id, "reader": "shop.v", "needs_commit": 0}
    change(category, "readers/shop.v.json", document.encode(retention.KIND, 1, mark))
    forget()
    category = Category.open(homes("home"), name)
    assert category.limits() == DEFAULTS[role]
    assert category.first_commit() == 0
    assert category.readers() == {"shop.v": 0}
    assert category.retain() == 0


def test_limits_that_do_not_read_delete_nothing(category: Category, put: Any) -> None:
    for number in range(6):
        put(category, number * 10)
    set_limits(category, Limits(0, 0))
    change(category, "retention.json", b"{}")
    with pytest.raises(CorruptFile, match="corrupt") as caught:
        category.retain()
    assert "dovetail log retain clicks" in (caught.value.hint or "")
    assert category.first_commit() == 0
    set_limits(category, None)
    assert category.retain() == 0
