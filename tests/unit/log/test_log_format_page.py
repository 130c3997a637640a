"""docs/reference/log-format.md tells the truth about the files on disk."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xxhash

from dovetail.log.category import Category
from dovetail.log.segment import MAX_BYTES, MAX_ROWS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "log-format.md").read_text()


@pytest.fixture
def files(category: Category, put: Any) -> dict[str, Path]:
    for first in (0, 10):
        rejected = [category.write_rejected(["x"], "bad")]
        category.append(put.write(category, first), producer="app", batch=first, rejected=rejected)
    category.set_reader("reader", 1)
    category.retain()
    root = Path(category.where)
    return {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}


def test_every_file_has_its_line(files: dict[str, Path]) -> None:
    layout = PAGE.split("```")[1]
    for name in files:
        folder, _, last = name.rpartition("/")
        shown = re.sub(r"^[0-9a-f]{32}", "<unique>", last) if folder in ("segments", "rejected") else last
        shown = "<reader>.json" if folder == "readers" else shown
        shown = f"{0:020d}.json" if folder == "commits" else shown
        assert f"{folder}/{shown}".lstrip("/") in layout


def test_every_key_of_every_body_is_explained(files: dict[str, Path]) -> None:
    rows = {line.split("|")[2].strip(" `"): line for line in PAGE.splitlines() if "| `dovetail." in line}
    seen = set()
    for name, path in files.items():
        if not name.endswith(".json"):
            continue
        content = json.loads(path.read_text())
        assert list(content) == ["format", "version", "checksum", "body"]
        assert content["version"] == (2 if content["format"] == "dovetail.commit" else 1)
        seen.add(content["format"])
        for key in content["body"]:
            assert f"`{key}`" in rows[content["format"]], (content["format"], key)
        for part in content["body"].get("segments", []) + content["body"].get("rejected", []):
            for key in (*part, *part.get("sketch", ())):
                assert f"`{key}`" in PAGE, key
    assert seen == {"dovetail.category", "dovetail.commit", "dovetail.reader", "dovetail.first"}


def test_the_rule_of_the_checksum(files: dict[str, Path]) -> None:
    for name, path in files.items():
        if name.endswith(".json"):
            content = json.loads(path.read_text())
            said = [content["format"], content["version"], content["body"]]
            text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            assert xxhash.xxh3_64_hexdigest(text.encode()) == content["checksum"]


def test_segments_and_their_limits(files: dict[str, Path]) -> None:
    (path,) = [path for name, path in files.items() if name.startswith("segments/")]
    with pa.memory_map(str(path)) as file:
        for key in pa.ipc.open_file(file).schema.metadata:
            assert f"| `{key.decode()}` |" in PAGE
    assert f"at most {MAX_ROWS:,} rows or {MAX_BYTES >> 20} MiB" in PAGE
