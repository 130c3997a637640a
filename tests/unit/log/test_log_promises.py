"""Commits carry what their producers promise: the smallest counts, and news makes a commit without rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.errors import CorruptFile
from dovetail.log import commit as commit_format
from dovetail.log import document
from dovetail.log.category import Category
from dovetail.model.offset import NEVER
from dovetail.model.promise import Promise, PromisedColumn, TimeTerm, promised


def promise(time_us: int, column: str = "_time") -> Promise:
    return Promise({column: time_us}, "fixed")


def test_a_promise_stays_until_there_is_news(category: Category, put: Any) -> None:
    infos = put.write(category, 0)
    category.append(infos, producer="app", batch=0, promise=promise(10))
    put(category, 100)  # by hand: people promise nothing, and break nothing
    assert category.append([], producer="app", batch=1, promise=promise(10)) is None
    news = category.append([], producer="app", batch=2, promise=promise(20))
    assert news is not None
    assert (news.rows, news.number) == (0, 2)
    assert [category.commit(n).promised("_time") for n in range(3)] == [10, 10, 20]
    assert category.commit(2).promised("other") is None
    assert category.commit(2).promised_by == "fixed"


def test_news_enters_once(category: Category) -> None:
    first = category.append([], producer="app", batch=0, promise=promise(10))
    second = category.append([], producer="app", batch=1, promise=promise(20))
    assert category.append([], producer="app", batch=0, promise=promise(10)) == first
    assert category.append([], producer="app", batch=1, promise=promise(20)) == second
    assert category.next_commit() == 2


def test_the_smallest_promise_of_all_producers_counts(category: Category, put: Any) -> None:
    category.append([], producer="a", batch=0, promise=promise(10))
    category.append([], producer="b", batch=0, promise=promise(5))
    assert category.commit(1).promised("_time") == 5
    category.append([], producer="b", batch=1, promise=promise(30))
    assert category.commit(2).promised("_time") == 10
    put(category, 0, producer="silent", batch=0)
    assert category.commit(3).promised("_time") is None


def test_who_promises_no_more_is_not_taken_at_its_old_word(category: Category, put: Any) -> None:
    category.append([], producer="app", batch=0, promise=promise(10))
    put(category, 0, producer="app", batch=1)
    assert category.commit(1).promised("_time") is None


def test_a_producer_may_start_over(category: Category) -> None:
    category.append([], producer="app", batch=0, promise=promise(10))
    category.append([], producer="app", batch=1, promise=promise(NEVER))
    assert category.commit(1).promised("_time") == NEVER


def test_a_promise_needs_a_producer(category: Category) -> None:
    with pytest.raises(ValueError, match="producer"):
        category.append([], promise=promise(1))


def test_commits_of_the_last_release_are_read(category: Category, put: Any) -> None:
    put(category, 0, producer="app", batch=0)
    body = json.loads(commit_format.encode(category.commit(0), category.id))["body"]
    del body["promises"]
    old = document.encode(commit_format.KIND, 2, body)
    assert commit_format.decode(old, 0, category.id, where="here") == category.commit(0)


@pytest.mark.parametrize("bad", [{"app": {}}, {"app": {"times": {"t": "1"}, "by": "x"}}, [], {"app": 3}])
def test_what_is_no_promise_is_refused(category: Category, put: Any, bad: Any) -> None:
    put(category, 0, producer="app", batch=0)
    body = json.loads(commit_format.encode(category.commit(0), category.id))["body"] | {"promises": bad}
    data = document.encode(commit_format.KIND, commit_format.VERSION, body)
    with pytest.raises(CorruptFile):
        commit_format.decode(data, 0, category.id, where="here")


def test_promises_survive_compaction(category: Category, put: Any) -> None:
    for batch in range(400):
        category.append(put.write(category, batch, 1), producer="app", batch=batch, promise=promise(batch))
    assert len(list(category.store.files(f"{category.folder}/commits"))) < 400, "nothing was bundled"
    assert [category.commit(n).promised("_time") for n in (0, 200, 399)] == [0, 200, 399]


def test_a_column_is_promised_the_smallest_of_its_terms() -> None:
    column = PromisedColumn("t", (TimeTerm("left", 0), TimeTerm("right", -5)))
    assert promised([column], {"left": 10, "right": 12}, "fixed") == Promise({"t": 7}, "fixed")
    assert promised([column], {"left": 10, "right": NEVER}, "fixed") == Promise({"t": NEVER}, "fixed")
    assert promised([column], {"left": 10, "right": None}, "fixed") is None
    assert promised([column], {"left": 10}, "fixed") is None


def test_a_promise_passes_to_an_heir_in_one_commit(category: Category, put: Any) -> None:
    category.append(put.write(category, 0), producer="old", batch=5, promise=promise(10))
    category.append([], producer="other", batch=0, promise=promise(90))
    passed = category.pass_promises_on(["old"], ["heir"], ["_time", "later"])
    assert passed is not None
    assert (passed.rows, passed.first_row, passed.producer, passed.batch) == (0, 10, None, None)
    assert passed == category.commit(2), "what a reader finds"
    assert passed.promised("_time") == 10, "nothing is promised that the heir may break"
    assert passed.promised("later") is None, "the other one has never said so"
    assert category.pass_promises_on(["old"], ["heir"], ["_time"]) is None
    category.append(put.write(category, 10), producer="heir", batch=0, promise=promise(50))
    assert category.commit(3).promised("_time") == 50
    assert category.last_batch("old") == 5, "its batches count as before"


def test_heirs_hold_what_is_true_of_all_who_have_gone(category: Category, put: Any) -> None:
    category.append([], producer="one", batch=0, promise=Promise({"_time": 10, "t": 1}, "fixed"))
    category.append([], producer="two", batch=0, promise=promise(7))
    category.append([], producer="there", batch=0, promise=promise(40))
    passed = category.pass_promises_on(["one", "two"], ["new", "there"], ["_time"])
    assert passed is not None
    assert passed.promises["new"] == promise(7)
    assert passed.promises["there"] == promise(40), "it has one of its own"
    assert passed.promised("_time") == 7


def test_nobody_gone_is_no_commit(category: Category, put: Any) -> None:
    assert category.pass_promises_on(["old"], ["heir"], ["_time"]) is None
    put(category, 0, producer="silent", batch=0)
    assert category.pass_promises_on(["silent", "old"], ["heir"], ["_time"]) is None
    assert category.next_commit() == 1
