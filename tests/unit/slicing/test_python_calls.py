"""Functions of a query over Arrow arrays: every style gives the same, and an error names the row."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from dovetail.errors import RunError
from dovetail.model.python_function import PythonFunction, Style, as_called
from dovetail.slicing.python_calls import NoFunction, call, checked

X = pa.array([1, None, 4], pa.int64())
Y = pa.array(["a", "bb", None], pa.string())
BODIES: dict[Style, str] = {
    "scalar": "return None if x is None or y is None else x * len(y)",
    "arrow": "import pyarrow.compute as pc\nreturn pc.multiply(x, pc.utf8_length(y))",
    "pandas": "return x * y.str.len()",
}


def function(code: str, **given: Any) -> PythonFunction:
    parameters = given.pop("parameters", (("x", "BIGINT"), ("y", "STRING")))
    return PythonFunction("score", parameters, given.pop("returns", "BIGINT"), code, **given)


@pytest.mark.parametrize("style", BODIES)
def test_every_style_gives_the_same(style: Style) -> None:
    made = call(function(BODIES[style], style=style), pa.int64(), [X, Y])
    assert made.to_pylist() == [1, None, None]
    assert made.type == pa.int64()


def test_a_module_may_have_more_than_its_handler() -> None:
    code = "LIMIT = 2\ndef _cut(x):\n    return min(x, LIMIT)\ndef f(x, y='z'):\n    return _cut(x)\n"
    made = call(function(code, handler="f", parameters=(("x", "BIGINT"),)), pa.int64(), [pa.array([1, 9])])
    assert made.to_pylist() == [1, 2]


def test_text_over_several_lines_in_a_body_stays_as_it_is() -> None:
    made = call(function("  s = '''a\n  b'''\n  return len(s)"), pa.int64(), [X, Y])
    assert set(made.to_pylist()) == {3}


def test_times_are_in_utc() -> None:
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    moment = pa.timestamp("us", "UTC")
    given = function("return x.hour", parameters=(("x", "TIMESTAMP"),))
    assert call(given, pa.int64(), [pa.array([at], moment)]).to_pylist() == [12]


@pytest.mark.parametrize("rows", [1, 2, 7, 1000])
@pytest.mark.parametrize("style", ["scalar", "arrow", "pandas"])
def test_an_error_names_the_values_of_the_row(style: Style, rows: int) -> None:
    body = {
        "scalar": "z = 1\nreturn 6 // x",
        "arrow": "import pyarrow.compute as pc\nreturn pc.divide(pa_six(x), x)\n",
        "pandas": "if (x == 0).any():\n    raise ZeroDivisionError('division by zero')\nreturn x",
    }[style]
    if style == "arrow":
        body = "import pyarrow as pa, pyarrow.compute as pc\nreturn pc.divide(pa.scalar(6), x)"
    bad = rows * 2 // 3
    x = pa.array([0 if n == bad else 3 for n in range(rows)], pa.int64())
    y = pa.array([f"row {n}" for n in range(rows)])
    with pytest.raises(RunError) as caught:
        call(function(body, style=style), pa.int64(), [x, y])
    assert f"score(x = 0, y = 'row {bad}') failed: " in caught.value.what
    assert "divi" in caught.value.what
    assert "line 2" in str(caught.value.where)


def test_a_value_of_another_type_names_the_row_and_the_signature() -> None:
    with pytest.raises(RunError) as caught:
        call(function("return y if x else 1"), pa.int64(), [X, Y])
    assert caught.value.what == "score(x = 1, y = 'a') returned 'a', which is no BIGINT"
    assert caught.value.expected == "score(x BIGINT, y STRING) RETURNS BIGINT"


@pytest.mark.parametrize(
    ("body", "says"),
    [("return x[:2]", "2 values for 3 rows"), ("return 5", "not an Arrow array")],
)
def test_a_batch_gets_a_value_for_each_row(body: str, says: str) -> None:
    with pytest.raises(RunError, match=says):
        call(function(body, style="arrow"), pa.int64(), [X, Y])


@pytest.mark.parametrize(
    ("code", "handler", "says", "line"),
    [
        ("return 1 +", None, "invalid syntax", 1),
        ("x = 1\n  return x", None, "unexpected indent", 2),
        ("x + 1", None, "returns nothing", 1),
        ("def g(x, y): return 1", "f", "no function `f`; it has g", 1),
        ("\ndef f(x): return 1", "f", "takes 1 arguments in Python, and 2 are declared", 2),
        ("", None, "no code", 1),
    ],
)
def test_code_that_is_no_function(code: str, handler: str | None, says: str, line: int) -> None:
    with pytest.raises(NoFunction, match=says) as caught:
        checked(function(code, handler=handler))
    assert caught.value.line == line


def test_what_a_function_imports_must_be_there() -> None:
    with pytest.raises(RunError, match="cannot be loaded: ModuleNotFoundError") as caught:
        call(function("import no_such_module_here\ndef f(x, y): return 1", handler="f"), pa.int64(), [X, Y])
    assert "line 1" in str(caught.value.where)


def test_another_code_or_type_is_another_function() -> None:
    one = function("return 1")
    others = [function("return 2"), function("return 1", returns="INT"), function("return 1", style="arrow")]
    assert len({one.shipped, *(other.shipped for other in others)}) == 4
    assert as_called(f"{one.shipped}(`x`)").startswith("score@")
