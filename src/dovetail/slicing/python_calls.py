"""Calls of functions that a query defines in Python, over Arrow arrays.

Law: Spark's tasks and `dovetail.local` make the same call, so the same values come out. An error names the
values of a row that fails. In a batch that fails, that row is found by halving: the caller chooses the size
of a batch, so the answer may not depend on it.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from dovetail.errors import RunError
from dovetail.model.python_function import PythonFunction

_LONGEST_VALUE = 80


class NoFunction(ValueError):
    """The code is not one. `line` is the line of it that says so, from 1."""

    def __init__(self, what: str, line: int = 1) -> None:
        super().__init__(what)
        self.line = line


def checked(function: PythonFunction) -> ast.Module:
    """The tree of a function's code, in which the handler is defined. Nothing is run."""
    try:
        tree = ast.parse(textwrap.dedent(function.code), filename=_file(function))
        if function.handler is None:
            tree = ast.Module([_wrapped(function, tree)], [])
        compile(tree, _file(function), "exec")
    except (SyntaxError, ValueError) as error:
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise NoFunction(what, getattr(error, "lineno", None) or 1) from None
    if function.handler is not None:
        _require_handler(function, tree)
    return tree


def _wrapped(function: PythonFunction, body: ast.Module) -> ast.FunctionDef:
    """The code as the body of a function. Its lines keep their numbers."""
    if not body.body:
        raise NoFunction("the function has no code")
    if not any(isinstance(node, ast.Return | ast.Raise) for node in ast.walk(body)):
        raise NoFunction("the function returns nothing")
    header = f"def _body({', '.join(name for name, _ in function.parameters)}): pass"
    made = ast.parse(header).body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body.body
    return made


def _require_handler(function: PythonFunction, tree: ast.Module) -> None:
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assigned = {
        name.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.ImportFrom | ast.Import)
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    }
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    if function.handler not in {*defined, *assigned, *imported}:
        there = ", ".join(name for name, node in defined.items() if isinstance(node, ast.FunctionDef))
        raise NoFunction(f"the code has no function `{function.handler}`; it has {there or 'none'}")
    found = defined.get(function.handler)
    if isinstance(found, ast.FunctionDef) and not found.args.vararg:
        most = len(found.args.posonlyargs) + len(found.args.args)
        least = most - len(found.args.defaults)
        if not least <= len(function.parameters) <= most:
            raise NoFunction(
                f"`{function.handler}` takes {most} arguments in Python, and {len(function.parameters)} "
                "are declared",
                found.lineno,
            )


def _file(function: PythonFunction) -> str:
    return f"<function {function.name}>"


@lru_cache(maxsize=256)
def _compiled(function: PythonFunction) -> Callable[..., Any]:
    """The function, made once in each process."""
    try:
        space: dict[str, Any] = {"__name__": f"dovetail_function_{function.name}"}
        exec(compile(checked(function), _file(function), "exec"), space)
        made = space[function.handler or "_body"]
    except Exception as error:
        raise RunError(
            f"function {function.name} cannot be loaded: {type(error).__name__}: {error}",
            where=_place(function, error),
            hint="what it imports must be installed wherever tasks run",
        ) from None
    if not callable(made):
        raise RunError(f"`{function.handler}` cannot be called", where=f"function {function.name}")
    found: Callable[..., Any] = made
    return found


def call(function: PythonFunction, kind: pa.DataType, given: Sequence[pa.Array]) -> pa.Array:
    """The values of a function for a batch of rows."""
    code = _compiled(function)
    if function.style == "scalar":
        return _by_row(function, kind, code, given)
    try:
        return _by_batch(function, kind, code, given)
    except Exception as error:
        raise _failure(function, kind, code, given, error) from None


def _by_row(
    function: PythonFunction, kind: pa.DataType, code: Callable[..., Any], given: Sequence[pa.Array]
) -> pa.Array:
    made: list[Any] = []
    for row in zip(*(array.to_pylist() for array in given), strict=True):
        try:
            made.append(code(*row))
        except Exception as error:
            raise _failed(function, row, error) from None
    try:
        return pa.array(made, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        for row, value in zip(zip(*(array.to_pylist() for array in given), strict=True), made, strict=True):
            try:
                pa.array([value], kind)
            except Exception:
                raise _wrong_type(function, row, value) from None
        raise


def _by_batch(
    function: PythonFunction, kind: pa.DataType, code: Callable[..., Any], given: Sequence[pa.Array]
) -> pa.Array:
    rows = len(given[0])
    if function.style == "pandas":
        made = code(*(array.to_pandas() for array in given))
        if not hasattr(made, "__len__") or isinstance(made, str):
            raise TypeError(f"it returned {type(made).__name__}, not a series with a value for each row")
        result = pa.Array.from_pandas(made, type=kind)
    else:
        result = code(*given)
        if not isinstance(result, pa.Array | pa.ChunkedArray):
            raise TypeError(f"it returned {type(result).__name__}, not an Arrow array")
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if len(result) != rows:
        raise ValueError(f"it returned {len(result)} values for {rows} rows")
    return result if result.type == kind else result.cast(kind)


def _failure(
    function: PythonFunction,
    kind: pa.DataType,
    code: Callable[..., Any],
    given: Sequence[pa.Array],
    error: Exception,
) -> RunError:
    """Names a row that fails alone. A batch whose halves do not fail is to blame as a whole."""
    start, stop = 0, len(given[0])
    while stop - start > 1:
        middle = (start + stop) // 2
        for part in ((start, middle), (middle, stop)):
            try:
                _by_batch(function, kind, code, [array[slice(*part)] for array in given])
            except Exception as found:
                error, (start, stop) = found, part
                break
        else:
            break
    row = tuple(array[start].as_py() for array in given)
    return _failed(function, row, error, more=stop - start - 1)


def _failed(function: PythonFunction, row: Sequence[Any], error: Exception, *, more: int = 0) -> RunError:
    beside = f" (with {more} more rows; alone they do not fail)" if more else ""
    return RunError(
        f"{_values(function, row)} failed: {type(error).__name__}: {error}{beside}",
        where=_place(function, error),
        hint="catch it in the function, or leave such rows out with WHERE before it is called",
    )


def _wrong_type(function: PythonFunction, row: Sequence[Any], value: Any) -> RunError:
    return RunError(
        f"{_values(function, row)} returned {_shown(value)}, which is no {function.returns}",
        where=f"function {function.name}",
        expected=function.signature,
    )


def _values(function: PythonFunction, row: Sequence[Any]) -> str:
    named = zip((name for name, _ in function.parameters), row, strict=True)
    return f"{function.name}({', '.join(f'{name} = {_shown(value)}' for name, value in named)})"


def _shown(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= _LONGEST_VALUE else f"{said[:_LONGEST_VALUE]}..."


def _place(function: PythonFunction, error: BaseException) -> str:
    """The last line of the function's own code that was running."""
    line, frame = None, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == _file(function):
            line = frame.tb_lineno
        frame = frame.tb_next
    return f"function {function.name}" + (f", line {line} of its code" if line else "")
