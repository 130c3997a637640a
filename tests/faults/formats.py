"""Every format that Dovetail reads back: which files of a home have it, who reads them, and how a change in
them is made to look right.

A kind of file that crash points know, or a module that reads files, and that is not here makes a test fail.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xxhash

from dovetail.engine import live_index
from dovetail.joins.buffer import in_memory
from dovetail.kernels import ring as rings
from dovetail.kernels.ring import ENTRY, Ring
from dovetail.log import document
from dovetail.model import sealed_offset
from faults import specimen
from faults.mutants import DAMAGES, cut, empty, exchanged, longer, senseless
from faults.specimen import Specimen, Use

Repair = Callable[[Specimen, Path, random.Random], None]


@dataclass(frozen=True)
class Format:
    """`files`: patterns below the specimen's root. `repaired`: whatever its damage, the state is right.
    `partners`: which files it may be exchanged with."""

    files: tuple[str, ...]
    use: Use
    repair: Repair | None = None
    repaired: bool = False
    partners: Literal["all", "its folder", "none"] = "all"


def _document(made: Specimen, path: Path, rng: random.Random) -> None:
    """The body or the version changed, and a checksum that fits."""
    said = json.loads(path.read_bytes())
    version, body = said["version"], said["body"]
    if rng.random() < 0.1:
        version = rng.choice((0, 1, 99, -1, "2", None, 1.5, [2]))
    else:
        body = senseless(body, rng)
    path.write_bytes(document.encode(said["format"], version, body))


def _offset(made: Specimen, path: Path, rng: random.Random) -> None:
    said = json.loads(path.read_bytes())
    del said["checksum"]
    made_up = senseless(said, rng)
    if isinstance(made_up, dict):
        made_up["checksum"] = sealed_offset.checksum_of(made_up)
    path.write_bytes(json.dumps(made_up).encode())


def _snapshot(made: Specimen, path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    body = data[16:]
    if rng.random() < 0.4:
        length = int.from_bytes(body[:4], "little")
        header = json.dumps(senseless(json.loads(body[4 : 4 + length]), rng)).encode()
        body = len(header).to_bytes(4, "little") + header + body[4 + length :]
    else:
        body = rng.choice(DAMAGES)(body, body[::-1], rng)
    checksum = xxhash.xxh3_64_intdigest(body).to_bytes(8, "little")
    path.write_bytes(data[:8] + checksum + body)


def _segment(made: Specimen, path: Path, rng: random.Random) -> None:
    """The commit that names it says the new checksum and size. What lies inside its columns is not looked at
    beyond the checksum, so only its frame is changed."""
    data = path.read_bytes()
    data = rng.choice((cut, empty, longer, exchanged))(data, data[::-1], rng)
    path.write_bytes(data)
    for commit in path.parents[1].glob("commits/*.json"):
        said = json.loads(commit.read_bytes())
        for info in said["body"]["segments"]:
            if info["name"] == path.name:
                info |= {"bytes": len(data), "checksum": document.checksum(data)}
        commit.write_bytes(document.encode(said["format"], said["version"], said["body"]))


def _rejected(made: Specimen, path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    data = rng.choice(DAMAGES)(data, data[::-1], rng)
    path.write_bytes(data)
    for commit in path.parents[1].glob("commits/*.json"):
        said = json.loads(commit.read_bytes())
        for info in said["body"]["rejected"]:
            if info["file"] == path.name:
                info |= {"bytes": len(data), "checksum": document.checksum(data)}
        commit.write_bytes(document.encode(said["format"], said["version"], said["body"]))


def _bundle(made: Specimen, path: Path, rng: random.Random) -> None:
    """The header, or one of the commits below it, changed, and a checksum that fits."""
    lines = path.read_bytes().splitlines(keepends=True)
    at = rng.randrange(len(lines))
    said = json.loads(lines[at])
    lines[at] = document.encode(said["format"], said["version"], senseless(said["body"], rng))
    if at:
        header = json.loads(lines[0])
        header["body"]["lengths"] = [len(line) for line in lines[1:]]
        lines[0] = document.encode(header["format"], header["version"], header["body"])
    path.write_bytes(b"".join(lines))


def _pack(made: Specimen, path: Path, rng: random.Random) -> None:
    """Nothing in it describes itself: whatever changes in a segment, its commit has the checksum of."""
    data = path.read_bytes()
    path.write_bytes(rng.choice((cut, empty))(data, data[::-1], rng))


def _ring(made: Specimen, path: Path, rng: random.Random) -> None:
    """Rows that were never there, in a ring that is sound."""
    header = path.parent / "header.json"
    said = json.loads(header.read_bytes())
    side = path.name.split("-")[0]
    name, capacity, with_best, _ = said["body"]["rings"][side]
    old = _mapped(path.read_bytes(), capacity, with_best)
    slots = rings.live_slots(old)
    if len(slots):
        field = rng.choice(("time", "row", "tag", "best_row", "best_time"))
        some = rng.choices(slots.tolist(), k=3)
        column = getattr(old, field) if field.startswith("best") else old.entries[field]
        if len(column):
            limits = np.iinfo(column.dtype)
            column[some] = [rng.choice((0, 7, limits.max, limits.max // 3, limits.max - 1)) for _ in some]
    new = in_memory(side, capacity, with_best)
    rings.refill(new, old)
    padding = bytes(64 - new.meta.nbytes)
    path.write_bytes(new.meta.tobytes() + padding + b"".join(part.tobytes() for part in new[1:]))
    said["body"]["rings"][side] = [name, capacity, with_best, new.meta.tolist()]
    header.write_bytes(document.encode(said["format"], said["version"], said["body"]))


def _mapped(data: bytes, capacity: int, with_best: bool) -> Ring:
    offsets = live_index.ring_layout(capacity, with_best)
    kinds: tuple[Any, ...] = (np.int64, np.uint32, np.int64, np.int64, ENTRY, np.int64, np.int64)
    spans = zip(offsets, offsets[1:], kinds, strict=False)
    return Ring(*(np.frombuffer(bytearray(data[low:high]), kind) for low, high, kind in spans))


def _run(made: Specimen, path: Path, rng: random.Random) -> None:
    """Other rows or values, and a checksum that fits; or a header of other runs."""
    if path.suffix != ".run":
        _document(made, path, rng)
        return
    data = np.frombuffer(path.read_bytes()[: path.stat().st_size // 8 * 8], np.int64).copy()
    for place in rng.choices(range(len(data)), k=3):
        data[place] = rng.choice((0, 7, -1, 2**63 - 1, -(2**63), 2**31))
    path.write_bytes(data.tobytes() + path.read_bytes()[data.nbytes :])
    header = path.parent / "header.json"
    said = json.loads(header.read_bytes())
    for files in said["body"]["runs"].values():
        for file in files:
            if file[0] == path.name:
                file[-1] = xxhash.xxh3_64_intdigest(path.read_bytes())
    header.write_bytes(document.encode(said["format"], said["version"], said["body"]))


FORMATS = {
    "category": Format(("home/log/*/category.json",), specimen.use_log, _document),
    "generation": Format(("home/log/*/generations/*.json",), specimen.use_log, _document),
    "commit": Format(("home/log/*/commits/*.json",), specimen.use_log, _document),
    "segment": Format(("home/log/*/segments/*.arrow",), specimen.use_log, _segment),
    "dictionary": Format(("home/log/*/dictionaries/*.json",), specimen.use_log, _document),
    "rejected": Format(("home/log/*/rejected/*.jsonl",), specimen.use_log, _rejected),
    # That of another category is taken for one of an older category of the name, which counts no more.
    "reader": Format(("home/log/*/readers/*.json",), specimen.use_log, _document, partners="its folder"),
    "progress": Format(
        ("home/log/*/progress/*.json",), specimen.use_progress, _document, partners="its folder"
    ),
    "first": Format(("home/log/*/first.json",), specimen.use_log, _document),
    "bundle": Format(("home/log/*/bundles/*.jsonl",), specimen.use_log, _bundle),
    "pack": Format(("home/log/*/packs/*.pack",), specimen.use_log, _pack),
    "table": Format(("home/log/*/checkpoints/*.table",), specimen.use_tables, repaired=True),
    "limits": Format(("home/log/*/retention.json",), specimen.use_log, _document),
    "snapshot": Format(("home/apps/app/state/view/*5-*.snapshot",), specimen.use_state, _snapshot),
    "local_snapshot": Format(
        ("index/*/snapshots/*5-*.snapshot",), specimen.use_local_snapshots, _snapshot, repaired=True
    ),
    "tasks": Format(("home/apps/app/state/view/tasks.json",), specimen.use_tasks, _document),
    "lease": Format(("home/apps/app/lease.json",), specimen.use_lease, repaired=True),
    "record": Format(("home/apps/app/state/view/steps/*.json",), specimen.use_records, _document),
    "query": Format(("home/apps/app/state/view/queries/*.json",), specimen.use_queries, _document),
    "replay": Format(
        ("home/apps/app/state/view/replay/*.json",), specimen.use_replay, _document, repaired=True
    ),
    "windows": Format(("home/apps/app/state/*/windows.json",), specimen.use_windows, _document),
    "slicer": Format(("home/apps/app/slicers/*.json",), specimen.use_slicers, _document),
    "reading": Format(("home/apps/app/readings/*.json",), specimen.use_readings, _document),
    "closing": Format(("home/apps/app/closing.json",), specimen.use_closing, _document),
    "application": Format(("home/apps/*/application.json",), specimen.use_application, _document),
    "version": Format(("home/apps/*/versions/*.json",), specimen.use_versions, _document),
    "handover": Format(
        ("home/apps/app/handover.json", "home/apps/app/handover-answer.json"),
        specimen.use_handover,
        _document,
        repaired=True,
    ),
    "shadow": Format(
        ("home/apps/*/shadow.json", "home/apps/*/progress.json"), specimen.use_shadows, _document
    ),
    # Only the file's name says which offset it is, and only Spark sees that name.
    "offset": Format(("home/sink/offsets/[56].json",), specimen.use_index, _offset, partners="none"),
    "checkpoint": Format(
        ("home/apps/spark/*/*/offsets/[0-9]*", "home/apps/spark/*/*/sources/0/[0-9]*"),
        specimen.use_checkpoint,
    ),
    "header": Format(("index/*/*/header.json",), specimen.use_index, _document, repaired=True),
    "ring": Format(("index/*/*/*.ring",), specimen.use_index, _ring, repaired=True),
    "run": Format(
        ("index/near/*/*/*.run", "index/near/*/*/header.json"), specimen.use_runs, _run, repaired=True
    ),
    "owner": Format(("index/*/home", "index/*/state"), specimen.use_owner, repaired=True),
}

NEVER_READ = {
    "metrics": "written for others; of ours, only its age is looked at, and whatever does not read has none"
}

READERS: dict[str, tuple[str, ...] | str] = {
    "log/blocks.py": ("segment",),
    "log/bundle.py": ("bundle",),
    "log/category.py": ("category", "segment"),
    "log/checkpoints.py": ("table",),
    "log/compaction.py": ("pack", "segment"),
    "log/definition.py": ("category",),
    "log/dictionary.py": ("dictionary",),
    "log/document.py": ("commit", "category", "reader", "first", "record", "application", "header"),
    "log/generations.py": ("category", "generation"),
    "log/history.py": ("commit", "first"),
    "log/limits.py": ("limits",),
    "log/homes/lease.py": ("lease",),
    "log/homes/local.py": ("segment",),
    "log/rejected.py": ("rejected",),
    "log/source_progress.py": ("progress",),
    "log/retention.py": ("reader", "commit"),
    "log/segment.py": ("segment",),
    "plan/application_file.py": ("application",),
    "changes/takeover.py": ("application",),
    "changes/versions.py": ("version",),
    "spark/batch_files.py": ("checkpoint",),
    "spark/seeding.py": ("checkpoint",),
    "spark/monitor.py": ("offset",),
    "slicing/file_list.py": "Spark's list of output files: a damaged one ends the head start, no more",
    "slicing/file_merging.py": "notes about merged files: damaged ones end merging, and no more",
    "spark/head_start_notes.py": "notes with a checksum: damaged ones end the head start, and no more",
    "spark/source_reports.py": ("offset", "checkpoint"),
    "engine/index_folders.py": ("owner",),
    "engine/live_index.py": ("header", "ring"),
    "engine/run_files.py": ("run",),
    "engine/asked_tasks.py": ("tasks",),
    "engine/handover.py": ("handover",),
    "engine/queries.py": ("query",),
    "preview/rows_aside.py": "rows that the same process has written, in a temporary folder of its own",
    "preview/shadow_files.py": ("shadow",),
    "joins/rebuild_progress.py": ("replay",),
    "joins/snapshot.py": ("snapshot",),
    "engine/copying.py": ("local_snapshot",),
    "engine/home_snapshots.py": ("snapshot",),
    "engine/snapshot_files.py": ("snapshot", "local_snapshot"),
    "engine/step_log.py": ("record",),
    "engine/window_record.py": ("windows",),
    "kernels/flags.py": "our own sources, of which machine code on disk has a stamp",
    "service/torture/outside.py": "what servers have of the rows of a case",
    "simulate/costs_file.py": "costs that people give the simulator",
    "log/ingest/json_lines.py": "input of people: unreadable rows are kept aside",
    "model/join_config.py": "an option that the driver hands to its own tasks, in no file",
    "model/window_config.py": "an option that the driver hands to its own tasks, in no file",
    "service/applications.py": "how old the figures of an application are; whatever does not read has no age",
    "service/cli/pql_file.py": "a query of people",
    "service/cli/show.py": "result files of an application, which belong to people",
    "service/memory.py": "what the system says of processes",
    "service/torture/dataframes.py": "what the torture wrote for a program of its own a moment before",
    "service/cli/demo.py": "a query that the demo has written a moment before",
    "service/torture/processes.py": "what the system tells of processes",
    "service/torture/quick_case.py": "a file that it tears, and the last words of a process",
    "service/torture/quick_chain.py": "journals and output of the chain under torture",
    "service/torture/quick_join.py": "the output of the join under torture, and offsets as Spark keeps them",
    "service/torture/spark_application.py": "the last words of a process, and offsets as Spark keeps them",
    "service/committed_files.py": "what Spark's Parquet sink says of its own files",
    "engine/shipped_code.py": "our own sources, to be sent to executors",
    "spark/batch_promises.py": ("checkpoint",),
    "spark/frame_times.py": "metadata of a DataFrame's columns, in no file",
    "engine/claiming.py": "what tasks and their driver say to each other, in no file",
    "spark/join_source.py": "an option that the driver hands to its own tasks, in no file",
    "spark/failures.py": "an error that crosses the JVM, in no file, and what the system says of memory",
    "engine/gates.py": "one word, for the time of one run; whatever is not `open` ends it",
    "connectors/table_folder.py": "documents of STORAGE HIVE; tests/unit/connectors/test_hive.py damages one",
    "connectors/sinks/kafka.py": "what tasks tell the driver, in no file",
    "connectors/lakes/delta.py": "the log of a table that is others'; test_lake_intake.py damages it",
    "connectors/data_files.py": "what tasks tell the driver, in no file",
    "plan/package_file.py": "files of the package, which tests compare with Spark's jars and its analyzer",
    "connectors/secret.py": "a secret of people, in a file that is theirs",
    "spark/checkpoints.py": ("checkpoint",),
    "service/alarms/settings.py": "a document; tests/service/test_alarms.py damages it",
    "service/keeping/wanted.py": "a document; tests/service/test_keeper.py damages it",
    "service/keeping/processes.py": "documents; whatever does not read is no process and no end",
    "service/server/ledger.py": "logins and figures; a damaged file is replaced by a new one",
    "service/server/overview.py": "figures of a run; whatever does not read is none",
    "service/server/reading.py": "the end of a log, as text, and rows that somebody sends",
    "log/bucket_messages.py": "messages of a home on Kafka; tests/connectors/test_kafka_log.py damages them",
    "log/homes/kafka/address.py": "settings of a client, in a file that is people's",
    "connectors/avro_schema.py": "schemas of a registry that is others'; one that does not fit is refused",
    "connectors/schema_registry.py": "answers of a registry that is others'",
    "kafka/first_records.py": "records of a topic, each of which may be no JSON: it is passed over",
    "pql/modules.py": "a module of people",
    "service/access/oidc.py": "a document, and answers of an identity provider that is others'",
    "service/access/people.py": "documents; tests/service/test_access.py damages one",
    "service/backup.py": "files of a home as they are; each copy is compared by its checksum",
    "service/client.py": "answers of the service, in no file",
    "service/dry_run.py": "what a process of its own prints, in no file",
    "service/keeping/pools.py": "documents; whatever does not read is removed, as test_pools.py shows",
    "service/keeping/usage.py": "figures of a run; whatever does not read is none",
    "service/torture/service_case.py": "what the system says of processes",
    "engine/carried.py": "a mark of the same host; one that does not fit is replaced from the home",
    "spark/file_frames.py": "the plan of a DataFrame, in no file",
    "slicing/covered_files.py": ("slicer",),
    "slicing/readings.py": ("reading",),
    "changes/closing.py": ("closing",),
    "slicing/parquet_output.py": "what tasks tell the driver, in no file",
    "slicing/sides.py": "what tasks tell the driver, in no file",
    "spark/nursery.py": "an order that a client sends it, in no file",
    "spark/worker_python.py": "compared with what it ought to be, and written again",
    "joins/rows/literals.py": "a key that somebody asks for",
    "local/__init__.py": "a query that somebody wrote",
}
"""Modules that read files or JSON: of which kinds, or why that is nothing we wrote for later."""
