"""Tables of lakes whose files are on an S3 that goes away and comes back: rows wait, and each comes once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dovetail.connectors.lake import Lake, LakeFile
from dovetail.connectors.lake_kinds import open_lake
from dovetail.errors import InputError, Unreachable
from dovetail.lakes import lake_intake
from dovetail.lakes.lake_intake import PATIENCE_S, LakeIntake, LakeReading
from dovetail.slicing.resident import ResidentSlicer
from dovetail_dev.door import Door, door_to
from dovetail_dev.s3_server import BUCKET, S3, s3_server
from unit.lakes.test_lake_intake import Delta, Iceberg, Place, Stream, rows


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with s3_server(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def door(server: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    with door_to(server.port) as door:
        for name, value in {**S3(door.port).environment, "AWS_ALLOW_HTTP": "true"}.items():
            monkeypatch.setenv(name, value)
        yield door


@pytest.fixture(params=[Delta, Iceberg])
def place(request: pytest.FixtureRequest, door: Door, tmp_path: Path) -> Place:
    return on_s3(request.param(tmp_path), door)


def on_s3(place: Place, door: Door) -> Place:
    folder = f"s3://{BUCKET}/{uuid.uuid4().hex}"
    if isinstance(place, Delta):
        place.path = place.options["path"] = folder
    else:
        place.options["warehouse"] = folder
        place.on_s3 = {"s3.endpoint": f"http://127.0.0.1:{door.port}", "s3.region": "us-east-1"}
    return place


class AwayAtFirst:
    """A lake whose server is away while its first file is read."""

    def __init__(self, lake: Lake, door: Door) -> None:
        self._lake, self._door, self.failed = lake, door, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lake, name)

    def read(self, file: LakeFile, columns: Sequence[str]) -> pa.Table:
        if self.failed:
            return self._lake.read(file, columns)
        self._door.shut()
        try:
            return self._lake.read(file, columns)
        except Unreachable:
            self.failed += 1
            raise
        finally:
            self._door.open()


def test_a_run_goes_on_when_the_files_are_back(
    place: Place, door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_intake, "ASK_EVERY_S", 0.0)
    monkeypatch.setattr(lake_intake, "BATCH_FILES", 1)
    stream = Stream(place, tmp_path)
    place.append(rows(0, 4))
    place.append(rows(4, 3))
    lake: Any = AwayAtFirst(open_lake(place.kind, place.options.items()), door)

    def opened() -> LakeIntake:
        return LakeIntake(stream.category, stream.slicer, lake, LakeReading(finite=True))

    slicer = ResidentSlicer(stream.category, stream.slicer, opened, finite=True)
    slicer.run()
    assert slicer.error is None
    assert lake.failed == 1
    assert sorted(stream.ids()) == [*range(7)]


def test_a_part_waits_for_its_files(place: Place, door: Door, tmp_path: Path) -> None:
    stream = Stream(place, tmp_path)
    place.append(rows(0, 4))
    intake = stream.open(finite=True)
    stream.now_s += 1
    assert intake.look()
    door.shut()
    part = intake.take()
    with ThreadPoolExecutor(2) as threads, pytest.raises(Unreachable, match="cannot be reached") as away:
        part.write(threads)
    assert part.put_off is not None
    part.put_off(away.value)
    assert str(intake.waiting().trouble).startswith("waiting for ")
    assert not intake.look(), "it is not asked again at once"
    assert not intake.exhausted
    assert intake.settled_us is None
    stream.now_s += 1
    assert intake.look(), "the same part, once more"
    again = intake.take()
    assert again.covers == part.covers
    assert again.put_off is not None
    stream.now_s += PATIENCE_S
    with pytest.raises(InputError, match="waiting for "):
        again.put_off(away.value)
    door.open()
    stream.take_in(intake)
    assert sorted(stream.ids()) == [*range(4)]
    assert intake.waiting().trouble is None


def test_the_log_of_a_table_that_is_away(door: Door, tmp_path: Path) -> None:
    place = on_s3(Delta(tmp_path), door)
    place.append(rows(0, 4))
    lake = open_lake(place.kind, place.options.items())
    door.shut()
    with pytest.raises(Unreachable, match=r"the files of Delta table .* cannot be reached"):
        lake.added(0)


def test_files_that_are_gone_or_damaged_are_not_waited_for(door: Door, tmp_path: Path) -> None:
    from pyarrow import fs

    place = on_s3(Delta(tmp_path), door)
    place.append(rows(0, 1))
    lake = open_lake(place.kind, place.options.items())
    file = lake.whole(0)[0]
    filesystem, folder = fs.FileSystem.from_uri(place.path)
    with filesystem.open_input_stream(f"{folder}/{file.path}") as stream:
        whole = stream.readall()
    footer = int.from_bytes(whole[-8:-4], "little")
    nonsense = whole[: -8 - footer] + b"\xff" * footer + whole[-8:]
    for damaged in (whole[: len(whole) // 2], b"", nonsense):
        with filesystem.open_output_stream(f"{folder}/{file.path}") as stream:
            stream.write(damaged)
        with pytest.raises(InputError, match=r"a file of Delta table .* cannot be read"):
            lake.read(file, ["id"])
    filesystem.delete_file(f"{folder}/{file.path}")
    with pytest.raises(InputError, match="is gone before it was read"):
        lake.read(file, ["id"])


class InterruptedLook:
    def __init__(self, lake: Lake) -> None:
        self._lake, self.asked = lake, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lake, name)

    def changes(self, after: int | None) -> Any:
        self.asked += 1
        if self.asked == 1:
            raise Unreachable("it is being moved")
        return self._lake.changes(after)


@pytest.mark.parametrize("kind", [Delta, Iceberg])
def test_a_first_look_that_is_interrupted_is_no_look(kind: type[Place], tmp_path: Path) -> None:
    """A run that ends by itself reads up to what is there at the first look, and not nothing."""
    place = kind(tmp_path)
    stream = Stream(place, tmp_path)
    place.append(rows(0, 2))
    stream.take_in(stream.open())
    place.append(rows(2, 2))
    lake: Any = InterruptedLook(open_lake(place.kind, place.options.items()))
    finite = LakeReading(finite=True)
    intake = LakeIntake(stream.category, stream.slicer, lake, finite, clock=lambda: stream.now_s)
    stream.take_in(intake)
    assert not intake.exhausted
    stream.take_in(intake)
    assert intake.exhausted
    assert sorted(stream.ids()) == [*range(4)]
