"""ARCHITECTURE.md is true: the row's way is the way rows go, the join is read at one sitting, paths exist."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import dovetail.local
from dovetail.engine.advance import advance
from dovetail.log.category import Category
from dovetail.service.checkout import checkout_root
from dovetail.slicing.write_rows import bucket_of, time_of

ROOT = checkout_root()
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
WAY = re.findall(r"^(\d+)\. `([\w/]+\.py):(\w+)`", TEXT, re.MULTILINE)
MOST_FILES, MOST_JOIN_FILES, MOST_JOIN_LINES, MOST_WORDS = 35, 8, 1_000, 3_400


def test_every_function_of_a_rows_way_exists() -> None:
    assert [int(number) for number, _, _ in WAY] == list(range(1, len(WAY) + 1))
    for _, path, function in WAY:
        tree = ast.walk(ast.parse((ROOT / path).read_text()))
        assert function in {node.name for node in tree if isinstance(node, ast.FunctionDef)}, (path, function)


def test_a_rows_way_is_short() -> None:
    assert len({path for _, path, _ in WAY}) <= MOST_FILES


def the_join() -> set[str]:
    """The files that are said to be the join as it runs."""
    ((first, last),) = re.findall(r"is steps (\d+) to (\d+)", TEXT)
    return {path for number, path, _ in WAY if int(first) <= int(number) <= int(last)}


def test_the_join_is_read_at_one_sitting() -> None:
    files = the_join()
    assert len(files) <= MOST_JOIN_FILES
    assert sum(len((ROOT / path).read_text().splitlines()) for path in files) <= MOST_JOIN_LINES


QUERY = """CREATE APPLICATION app;
CREATE INPUT TABLE l (t TIMESTAMP, k BIGINT) FROM SCRIBE("l");
CREATE INPUT TABLE r (t TIMESTAMP, k BIGINT) FROM SCRIBE("r");
CREATE VIEW pairs AS SELECT l.k AS k, r.t AS came FROM l LEFT JOIN r
  ON l.k = r.k AND r.t BETWEEN l.t - INTERVAL '10 seconds' AND l.t + INTERVAL '10 seconds';
CREATE TABLE result AS SELECT k, came FROM pairs STORAGE NOOP;
"""


class Followed:
    """The files of ours whose functions run while a join advances. Compiled kernels have no frames: of these
    it notes the ones that a function which runs has by name."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._inside = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._inside += frame.f_code is advance.__code__
            if self._inside:
                self.files.update(path for path in self._met(frame) if path.startswith("src/dovetail/"))
        elif event == "return":
            self._inside -= frame.f_code is advance.__code__

    def _met(self, frame: FrameType) -> Iterator[str]:
        yield frame.f_code.co_filename.removeprefix(f"{ROOT}/")
        if frame.f_code.co_filename.startswith(f"{ROOT}/src/"):
            for name in frame.f_code.co_names:
                compiled = getattr(frame.f_globals.get(name), "py_func", None)
                if compiled is not None:
                    yield compiled.__code__.co_filename.removeprefix(f"{ROOT}/")


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What a row and its partner meet on their way through an interval join."""
    home = tmp_path_factory.mktemp("home")
    row = pa.table({"t": pa.array([0], pa.timestamp("us", "UTC")), "k": pa.array([1], pa.int64())})
    for name in ("l", "r"):
        category = Category.create(str(home), name, row.schema, buckets=1)
        category.append(category.write_segments(row.to_batches(), bucket_of(None, 1), time_of("t")))
    follow, before = Followed(), sys.getprofile()
    sys.setprofile(follow)
    try:
        tables = dovetail.local.run(QUERY, home)
    finally:
        sys.setprofile(before)
    assert tables["pairs"].num_rows == 1
    assert tables["pairs"]["came"].null_count == 0
    return follow.files


def test_a_row_meets_no_file_of_the_join_that_is_not_named(followed: set[str]) -> None:
    named = the_join()
    table = TEXT.partition("| met as well |")[2].partition("\n\n")[0]
    met = set(re.findall(r"^\| `([\w/.]+)` \|", table, re.MULTILINE))
    assert [path for path in sorted(followed) if not is_among(path, named | met)] == []
    assert [path for path in sorted(named | met) if not any(is_among(one, {path}) for one in followed)] == []

    files = {path for path in followed if Path(path).parts[2] in {"joins", "engine"}}
    (said,) = re.findall(r"that is (\d+) files of `joins/` and `engine/` with about ([\d,]+) lines", TEXT)
    lines = sum(len((ROOT / path).read_text().splitlines()) for path in files)
    assert int(said[0]) == len(files)
    assert round(lines, -2) == int(said[1].replace(",", ""))


def is_among(path: str, places: set[str]) -> bool:
    return any(path == place or (place.endswith("/") and path.startswith(place)) for place in places)


def test_lines_are_short() -> None:
    assert [line for line in TEXT.splitlines() if len(line) >= 100 and not line.startswith("|")] == []


def test_it_is_read_at_one_sitting_itself() -> None:
    assert len(TEXT.split()) <= MOST_WORDS


def test_every_idea_has_a_figure() -> None:
    """A drawing, a table or a list of functions in each section."""
    sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    bare = [
        one.partition("\n")[0] for one in sections if not re.search(r"^(```|\| |1\. )", one, re.MULTILINE)
    ]
    assert bare == []


def test_every_room_has_its_sentence() -> None:
    package = ROOT / "src/dovetail"
    rooms = {path.name for path in package.iterdir() if (path / "__init__.py").exists()}
    named = set(re.findall(r"^\| `src/dovetail/(\w+)/` \|", TEXT, re.MULTILINE))
    assert rooms == named
