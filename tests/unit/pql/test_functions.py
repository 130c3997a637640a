"""CREATE FUNCTION and CREATE MODULE: what they mean, and that a text with its modules is whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.errors import InputError
from dovetail.pql.check import check
from dovetail.pql.compile import compile_pql
from dovetail.pql.modules import with_modules
from dovetail.pql.parser import parse
from dovetail.pql.render import render

APP = """CREATE APPLICATION app;
CREATE FUNCTION score(x BIGINT) RETURNS BIGINT LANGUAGE PYTHON {code};
CREATE INPUT TABLE a (t TIMESTAMP, k STRING, x) FROM SCRIBE("a");
CREATE TABLE o AS SELECT t, {call} AS s FROM a STORAGE NOOP;
"""


def app(code: str = "AS $$ return x $$", call: str = "score(x)") -> str:
    return APP.format(code=code, call=call)


def test_what_is_written_comes_back() -> None:
    texts = [
        app(),
        app('PARAMETER STYLE ARROW HANDLER "f" AS $x$ f = "$$" $x$'),
        app("AS $$\n# ; CREATE TABLE ' \" `\nreturn x\n$$"),
    ]
    for text in texts:
        program = parse(text)
        assert parse(render(program)) == program
        assert len(program.functions) == 1


def test_an_undeclared_column_gets_the_type_of_the_parameter_and_the_plan_the_code() -> None:
    plan = compile_pql(app())
    assert [c.type for c in plan.slicers[0].inputs[0].columns] == ["TIMESTAMP", "STRING", "BIGINT"]
    (function,) = plan.functions
    assert function.shipped in plan.slicers[0].select
    assert type(plan).from_json(plan.to_json()) == plan


def test_a_changed_function_is_another_plan_and_a_call_in_other_letters_is_not() -> None:
    one, other = compile_pql(app()), compile_pql(app("AS $$ return x + 1 $$"))
    assert one.stages != other.stages
    assert compile_pql(app(call="SCORE(x)")).stages == one.stages


def test_a_file_becomes_a_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("def score(x):\n    return x  # $$ and $module$\n")
    text = with_modules(app('FROM "s.py"'), tmp_path)
    assert text.startswith(app('FROM "s.py"').rstrip())
    assert with_modules(text, tmp_path) == text  # once
    (tmp_path / "s.py").write_text("changed")
    assert compile_pql(text).functions[0].code == "\ndef score(x):\n    return x  # $$ and $module$\n"
    (tmp_path / "s.py").write_bytes(b"#" * 1_000_001)
    with pytest.raises(InputError, match="too large"):
        with_modules(app('FROM "s.py"'), tmp_path)


def test_a_broken_function_is_one_error_not_two() -> None:
    found = check(app("AS $$ return ( $$"))
    assert [error.what for error in found.errors] == ["function score: '(' was never closed"]
