"""What a run has found out about its stages with Spark's help, for the head start of the next one.

Law: notes are used by the same release, for the same plan and with the same settings, or not at all. They
hold no progress, which is in the home alone. So they may be lost at any time, and one that is old is not
wrong. They are kept on this host, in a folder that only its user may write to, and from which scripts of ours
are run: what is unpickled there is no more trusted than they are.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

import dovetail
from dovetail.engine.process_folder import hosts_folder
from dovetail.errors import CorruptFile

if TYPE_CHECKING:
    from dovetail.model.join_config import JoinConfig
    from dovetail.plan.physical import JoinStage, Plan
    from dovetail.spark.building import BuiltStage
    from dovetail.spark.join_source import Writing
    from dovetail.spark.residence import Residence

_DIGEST_BYTES = 16
_REMEDY = "none is needed: they are written again when Spark is there"


@dataclass(frozen=True)
class JoinNote:
    """A join whose tasks write its rows themselves."""

    stage: JoinStage
    config: JoinConfig
    writing: Writing


@dataclass(frozen=True)
class Notes:
    """All stages of a plan: none of them needs Spark."""

    residences: tuple[Residence, ...]
    joins: tuple[JoinNote, ...]


@dataclass(frozen=True)
class Circumstances:
    """For a run, besides its plan: what decides how stages run."""

    master: str
    settings: Mapping[str, str]
    index_dir: str | None

    def digest(self, plan: Plan) -> bytes:
        slicing = os.environ.get("DOVETAIL_SLICING")
        releases = dovetail.__version__, version("pyspark"), version("pyarrow"), sys.version
        said = [plan.to_json(), self.master, sorted(self.settings.items()), self.index_dir, slicing, releases]
        return xxhash.xxh3_128_digest(json.dumps(said, sort_keys=True).encode())


def noted(stages: Sequence[BuiltStage]) -> Notes | None:
    """Notes on the stages of a run that has started them; None: at least one of them needs Spark."""
    from dovetail.plan.physical import JoinStage
    from dovetail.spark.batches_alone import lets_count
    from dovetail.spark.residence import Residence
    from dovetail.spark.starting import AT_ONCE, pace

    residences, joins = [], []
    for built in stages:
        if isinstance(built.resident, Residence) and built.resident.text is None:
            residences.append(built.resident)
        elif (
            isinstance(built.stage, JoinStage)
            and built.join is not None
            and built.writing is not None
            and lets_count(built.output, built.rows.sparkSession)
            and pace(built) == AT_ONCE
        ):
            joins.append(JoinNote(built.stage, built.join, built.writing))
        else:
            return None
    return Notes(tuple(residences), tuple(joins)) if joins else None


def write_notes(home: str, plan: Plan, circumstances: Circumstances, notes: Notes) -> None:
    """Some that cannot be written cost the next run its head start, and this one nothing."""
    path = _path(home, plan.application)
    data = pickle.dumps(notes)
    draft = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        draft.write_bytes(circumstances.digest(plan) + xxhash.xxh3_128_digest(data) + data)
        draft.replace(path)


def find_notes(home: str, plan: Plan, circumstances: Circumstances) -> Path | None:
    """Where the notes are that hold for a run; None if there are none."""
    path = _path(home, plan.application)
    try:
        with open(path, "rb") as file:
            whose = file.read(_DIGEST_BYTES)
    except OSError:
        return None
    return path if whose == circumstances.digest(plan) else None


def read_notes(path: Path) -> Notes:
    data = path.read_bytes()
    checksum, body = data[_DIGEST_BYTES : 2 * _DIGEST_BYTES], data[2 * _DIGEST_BYTES :]
    if checksum != xxhash.xxh3_128_digest(body):
        raise CorruptFile("the notes of the last run are damaged", where=str(path), hint=_REMEDY)
    notes: Notes = pickle.loads(body)  # nosec B301
    return notes


def forget(home: str, application: str) -> None:
    with suppress(OSError):
        _path(home, application).unlink(missing_ok=True)


def _path(home: str, application: str) -> Path:
    whose = xxhash.xxh3_128_hexdigest(f"{os.path.abspath(home)}\n{application}".encode())
    return hosts_folder() / f"head-start-{whose}"
