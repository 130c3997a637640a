"""Who keeps the rejects of a table after a change, and what it owes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from dovetail.changes.compare import closest
from dovetail.changes.takeover import Takeover
from dovetail.plan.application_file import Current
from dovetail.plan.physical import Plan
from dovetail.pql.compile import plans_of, trace_program
from dovetail.pql.parser import parse
from dovetail.slicing.owed_rejects import forget_owed, note_owed, owed_rejects
from dovetail.spark.keepers import keepers, note_debts
from dovetail.spark.settling import settle
from unit.slicing.test_text_form import Texts, line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INPUTS = """
    CREATE APPLICATION app;
    CREATE INPUT TABLE t (at TIMESTAMP, id BIGINT) FROM FILES("{folder}", format = "json");
    CREATE INPUT TABLE u (at TIMESTAMP, id BIGINT) FROM SCRIBE("u");
"""
JOIN = """
    CREATE TABLE {name} AS SELECT t.id AS id FROM t JOIN u ON t.id = u.id
        AND u.at BETWEEN t.at AND t.at + INTERVAL '{minutes} minutes' WHERE t.id > {least}
        STORAGE SCRIBE(category = "{name}");
"""
ONE, OTHER = (
    JOIN.format(name="one", minutes=1, least=0),
    JOIN.format(name="other", minutes=2, least=1),
)


def plan_of(folder: Path, *joins: str) -> Plan:
    program = parse(INPUTS.format(folder=folder) + "".join(joins))
    return plans_of(trace_program(program), None)[0]


def test_the_next_one_owes_what_the_first_one_had_not_come_to(tmp_path: Path) -> None:
    old, new = plan_of(tmp_path / "in", ONE, OTHER), plan_of(tmp_path / "in", OTHER)
    first, second = (keepers(plan)["t", str(tmp_path / "in")].name for plan in (old, new))
    assert first != second
    texts = Texts(tmp_path, stage=first)
    home = texts.category.home
    texts.put("a", line(0), "bad a")
    texts.slice()
    owed = [texts.put("b", line(1), "bad b"), texts.put("c", line(2))]
    Texts(tmp_path, stage=second, keeps=False).slice()

    takeover = Takeover(home, new, None, Current(old, 1), ())
    note_debts(takeover)
    assert owed_rejects(home, "app", "t") == {*owed}
    note_debts(takeover)
    assert owed_rejects(home, "app", "t") == {*owed}, "done again"

    forget_owed(home, "app", "t")
    texts.slice()
    note_debts(takeover)
    assert owed_rejects(home, "app", "t") == frozenset(), "it has come to them"

    note_owed(home, "app", "t", owed[1:])
    note_debts(takeover)
    assert owed_rejects(home, "app", "t") == {owed[1]}, "what it owed itself is passed on"


def test_another_order_of_statements_makes_another_stage_the_first(tmp_path: Path) -> None:
    """That is no change, and no version. What the first one had not come to is written down all the same."""
    texts = Texts(tmp_path, stage="one_joined.left")
    home, table = texts.category.home, ("t", str(tmp_path / "in"))
    old = plan_of(tmp_path / "in", ONE, OTHER)
    program = parse(INPUTS.format(folder=tmp_path / "in") + OTHER + ONE)
    new, changes = closest(old, plans_of(trace_program(program), old))
    assert changes == []
    first, second = (keepers(plan)[table].name for plan in (old, new))
    assert (first, second) == (texts.slicer.stage, "other_joined.left")
    texts.put("a", line(0), "bad a")
    texts.slice()
    owed = texts.put("b", line(1), "bad b")
    Texts(tmp_path, stage=second, keeps=False).slice()
    settle(cast("SparkSession", None), Takeover(home, new, None, Current(old, 1), ()), None)
    assert owed_rejects(home, "app", "t") == {owed}
