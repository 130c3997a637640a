"""docs/reference/log-format.md tells the truth about the files on disk."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xxhash
import zstandard

from dovetail.log import compaction
from dovetail.log.blocks import BLOCK_BYTES
from dovetail.log.category import Category
from dovetail.log.compaction import FileShape
from dovetail.log.limits import DEFAULTS, Limits, set_limits
from dovetail.log.packer import DRIFT, DRIFT_SEGMENTS, MIN_RATIO, MIN_SAMPLE_BYTES, WIDE_BYTES
from dovetail.log.segment import MAX_BYTES, MAX_ROWS
from dovetail.log.source_progress import SourceReport, write_report

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "log-format.md").read_text()


@pytest.fixture
def files(category: Category, put: Any) -> dict[str, Path]:
    packed = Category.create(category.home, "packed", category.schema, buckets=4, compression="zstd")
    put(packed, 0, 40_000)
    packed.evolve(category.schema.append(pa.field("more", pa.bool_())))
    old = Category.create(category.home, "old", category.schema, buckets=4, compression="zstd")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "SHAPE", FileShape(span=2, fan=2, recent=1))
        for first in (0, 10, 20):
            put(old, first)
        old.compact()
    for first in (0, 10):
        rejected = [category.write_rejected(["x"], "bad")]
        category.append(put.write(category, first), producer="app", batch=first, rejected=rejected)
    category.set_reader("reader", 1)
    set_limits(category, Limits(None, None))
    write_report(category, SourceReport("app", "app", "behind", 1, 2, 3))
    category.retain()
    found = {}
    for root in (Path(old.where), Path(category.where), Path(packed.where)):
        found |= {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    return found


def test_every_file_has_its_line(files: dict[str, Path]) -> None:
    layout = PAGE.split("```")[1]
    for name in files:
        folder, _, last = name.rpartition("/")
        unique = folder in ("segments", "rejected", "packs")
        shown = re.sub(r"^[0-9a-f]{32}", "<unique>", last) if unique else last
        shown = "<first>-<stop>.jsonl" if folder == "bundles" else shown
        shown = "<first>-<stop>.table" if folder == "checkpoints" else shown
        shown = "<reader>.json" if folder == "readers" else shown
        shown = "<producer>.json" if folder == "progress" else shown
        shown = "<id>.json" if folder == "dictionaries" else shown
        shown = "<n>.json" if folder == "generations" else shown
        shown = f"{0:020d}.json" if folder == "commits" else shown
        assert f"{folder}/{shown}".lstrip("/") in layout


def test_every_key_of_every_body_is_explained(files: dict[str, Path]) -> None:
    rows = {line.split("|")[2].strip(" `"): line for line in PAGE.splitlines() if "| `dovetail." in line}
    seen = set()
    for name, path in files.items():
        if not name.endswith((".json", ".jsonl")) or name.startswith("rejected"):
            continue
        content = json.loads(path.read_text().splitlines()[0])
        assert list(content) == ["format", "version", "checksum", "body"]
        versions = {"commit": 4, "first": 2, "reader": 2, "progress": 3}
        assert content["version"] == versions.get(content["format"].removeprefix("dovetail."), 1)
        seen.add(content["format"])
        for key in content["body"]:
            assert f"`{key}`" in rows[content["format"]], (content["format"], key)
        for part in content["body"].get("segments", []) + content["body"].get("rejected", []):
            for key in (*part, *part.get("sketch", ()), *(part.get("packing") or ())):
                assert f"`{key}`" in PAGE, key
    assert seen == {
        "dovetail.category",
        "dovetail.generation",
        "dovetail.commit",
        "dovetail.reader",
        "dovetail.progress",
        "dovetail.first",
        "dovetail.dictionary",
        "dovetail.bundle",
        "dovetail.retention",
    }


def test_the_rule_of_the_checksum(files: dict[str, Path]) -> None:
    for name, path in files.items():
        if name.endswith(".json"):
            content = json.loads(path.read_text())
            said = [content["format"], content["version"], content["body"]]
            text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            assert xxhash.xxh3_64_hexdigest(text.encode()) == content["checksum"]


def test_segments_and_their_limits(files: dict[str, Path]) -> None:
    paths = [path for name, path in files.items() if name.startswith("segments/")]
    assert len(paths) == 3
    for path in paths:
        with pa.memory_map(str(path)) as file:
            for key in pa.ipc.open_file(file).schema.metadata:
                assert f"| `{key.decode()}` |" in PAGE
    assert f"at most {MAX_ROWS:,} rows or {MAX_BYTES >> 20} MiB" in PAGE


def test_bundles_by_the_page(files: dict[str, Path]) -> None:
    """A reader made from the page alone finds the rows of a commit in a pack."""
    ((name, path),) = [(name, path) for name, path in files.items() if name.startswith("bundles/")]
    assert name == f"bundles/{0:020d}-{2:020d}.jsonl"
    header, *lines = path.read_bytes().splitlines(keepends=True)
    body = json.loads(header)["body"]
    assert [len(line) for line in lines] == body["lengths"]
    for number, line in enumerate(lines):
        commit = json.loads(line)["body"]
        assert commit["number"] == body["first"] + number
        ((pack, at),) = body["places"][number]
        (info,) = commit["segments"]
        data = files[f"packs/{body['packs'][pack]}"].read_bytes()[at : at + info["bytes"]]
        assert xxhash.xxh3_64_hexdigest(data) == info["checksum"]
        assert (at % 64, body["bytes"][number]) == (0, len(data))


def test_the_numbers_of_compaction_and_retention() -> None:
    shape = compaction.SHAPE
    assert f"every {shape.span} commits; the newest {shape.recent} commits" in PAGE
    assert f"{shape.fan} such bundles become one of {shape.span * shape.fan:,}" in PAGE
    assert f"at most {shape.wide_bytes >> 20} MiB" in PAGE
    assert f"below {shape.small_bytes >> 20} MiB, up to {shape.pack_bytes >> 20} MiB" in PAGE
    assert f"packs above {shape.small_pack_bytes >> 20} MiB" in PAGE
    for role, limits in DEFAULTS.items():
        (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{role}` |")]
        age, size = line.split("|")[3:5]
        assert age.strip() == (f"{limits.age_us // 86_400_000_000} days" if limits.age_us else "")
        assert size.strip() == (f"{limits.size_bytes // 10**9} GB" if limits.size_bytes else "")


def test_compression_by_the_page(files: dict[str, Path]) -> None:
    """A reader made from the page alone: Arrow, zstd and base64."""
    paths = [path for name, path in files.items() if name.startswith("segments/")]
    (path,) = [path for path in paths if "packed" in path.parts]
    with pa.memory_map(str(path)) as file:
        reader = pa.ipc.open_file(file)
        batch, metadata = reader.get_batch(0), reader.schema.metadata
        blocks = batch.column("_payload")
        id_ = metadata[b"dovetail.dictionary"].decode()
        body = json.loads(files[f"dictionaries/{id_}.json"].read_text())["body"]
        content = base64.b64decode(body["content"])
        assert xxhash.xxh3_64_hexdigest(content) == id_
        zstd = zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(content))
        rows = [
            pa.ipc.read_record_batch(pa.py_buffer(zstd.decompress(frame.as_py())), SCHEMA)
            for frame in blocks.values
        ]
    assert sorted(pa.Table.from_batches(rows).column("id").to_pylist()) == list(range(40_000))
    for number in (WIDE_BYTES, MIN_RATIO, MIN_SAMPLE_BYTES >> 10, DRIFT_SEGMENTS, DRIFT, BLOCK_BYTES >> 10):
        assert re.search(rf"\b{re.escape(str(number))}\b", PAGE), number
