"""What planning asks of a home on an object store, where each look at a file is a request or two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail.engine.driver import JoinDriver
from dovetail.log.category import Category
from dovetail.log.homes.remote import RemoteStore
from dovetail.model.interval import IntervalSpec
from dovetail.model.join_kind import IntervalJoin
from dovetail.service.torture.quick_join import SCHEMA, config
from dovetail_dev.s3_server import CREDENTIALS, S3, s3_server
from unit.engine.stepping import BUCKETS, Driven


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with s3_server(tmp_path) as server:
        yield server


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each category was opened: its definition is read again, for there is no cheaper look."""
    found: Counter[str] = Counter()
    read = RemoteStore.buffer

    def counted(store: RemoteStore, path: str, *args: Any) -> Any:
        if path.endswith("category.json"):
            found[path.split("/")[-2]] += 1
        return read(store, path, *args)

    monkeypatch.setattr(RemoteStore, "buffer", counted)
    return found


def test_a_plan_opens_a_category_once(tmp_path: Path, server: S3, opened: Counter[str]) -> None:
    home = server.home("home")
    for name in ("left", "right"):
        Category.create(home, name, SCHEMA, buckets=BUCKETS)
    driven = Driven(config(home, tmp_path / "index", IntervalJoin(IntervalSpec(5, 5, "left")), BUCKETS, 0))
    driven.append("left", ("a", 1))
    driver = JoinDriver(driven.config)
    start = driver.first()
    opened.clear()
    driver.await_news(start)
    assert opened == {}, "nothing is looked at while it waits"
    end = driver.plan(start)
    assert end is not start
    assert opened == {"left": 1, "right": 1}
    assert list(driver.run(start, end)) == []
    opened.clear()
    driver.retain(end)
    assert opened == {"left": 1, "right": 1}
