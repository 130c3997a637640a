"""Operands of a theta join are shown as the query wrote them."""

from __future__ import annotations

from dovetail.model.theta import Operand
from dovetail.plan.joins.operand_words import operand_words
from dovetail.pql.compile import compile_pql

QUERY = """CREATE APPLICATION app;
CREATE INPUT TABLE l (t TIMESTAMP, k STRING, x BIGINT) FROM SCRIBE("l");
CREATE INPUT TABLE r (t TIMESTAMP, k STRING, a BIGINT) FROM SCRIBE("r");
CREATE VIEW v AS SELECT l.x AS x, r.a AS a FROM l JOIN r
  ON abs(l.x - r.a) <= 10 AND upper(concat(l.k, ',)', l.k)) <> r.k
  AND r.t BETWEEN l.t AND l.t + INTERVAL '3 minutes';
CREATE TABLE o AS SELECT * FROM v STORAGE NOOP;"""


def test_operands_are_those_of_the_query() -> None:
    plan = compile_pql(QUERY)
    assert operand_words(plan, plan.joins[0]) == {
        Operand("left", "_on_0"): "l.x",
        Operand("left", "_on_1"): "upper(concat(l.k, ',)', l.k))",
        Operand("right", "_on_0"): "r.a",
        Operand("right", "_on_1"): "r.k",
    }
