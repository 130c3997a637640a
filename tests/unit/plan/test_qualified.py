"""QUALIFY as Spark is asked for it: a filter over a column that has the condition."""

from __future__ import annotations

from dovetail.plan.qualified import without_qualify


def test_the_condition_is_a_column_of_the_rows() -> None:
    ranked = "ROW_NUMBER() OVER (PARTITION BY `window` ORDER BY SUM(`t`.`v`) DESC) <= 2"
    grouped = "SELECT `t`.`k` AS `k`, SUM(`t`.`v`) AS `v`{} FROM `t` GROUP BY `window`, `t`.`k`"
    assert without_qualify(f"{grouped.format('')} QUALIFY {ranked} AND COUNT(*) > 1") == (
        f"SELECT `k`, `v` FROM ({grouped.format(f', ({ranked} AND COUNT(*) > 1) AS `_qualified`')}) "
        "AS `_rows` WHERE `_qualified`"
    )


def test_a_name_that_is_taken_is_not_used() -> None:
    rank = "RANK() OVER (PARTITION BY `window` ORDER BY `t`.`a`) = 1"
    made = without_qualify(f"SELECT `t`.`a` AS `_Qualified` FROM `t` QUALIFY {rank}")
    assert made == (
        f"SELECT `_Qualified` FROM (SELECT `t`.`a` AS `_Qualified`, ({rank}) AS `_qualified_2` FROM `t`) "
        "AS `_rows` WHERE `_qualified_2`"
    )


def test_other_queries_stay_as_they_are() -> None:
    for sql in ("SELECT `t`.`a` AS `QUALIFY` FROM `t`", "SELECT 1 AS a"):
        assert without_qualify(sql) == sql
