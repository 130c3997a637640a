"""A home on S3: what was committed is not overwritten, however long a writer slept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

from dovetail.errors import StateError
from dovetail.log import appending, compaction, history, retention
from dovetail.log.category import Category
from dovetail.log.compaction import FileShape
from dovetail.log.homes import claims
from dovetail.log.homes.filesystem import open_store
from dovetail.log.homes.lease import Lease, Terms
from dovetail.log.homes.remote import RemoteStore
from dovetail.slicing.vanished_files import vanished
from dovetail_dev.s3_server import CREDENTIALS, S3, s3_server

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


CONDITIONAL = pytest.mark.parametrize("server", [True], indirect=True, ids=["conditional"])


@pytest.fixture(scope="module", params=[True, False], ids=["conditional", "unconditional"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with s3_server(tmp_path_factory.mktemp("s3"), conditional=request.param) as server:
        yield server


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def homes(server: S3, request: pytest.FixtureRequest) -> tuple[str, str]:
    """One home, as two drivers see it: each has a store of its own."""
    home = server.home(request.node.name.replace("[", "-").replace("]", ""))
    return home, f"{home}&region=us-east-1"


def conditional(home: str) -> bool:
    store = open_store(home)
    assert isinstance(store, RemoteStore)
    return store.conditional is not None


def test_a_store_says_what_it_can_do(homes: tuple[str, str], request: pytest.FixtureRequest) -> None:
    assert conditional(homes[0]) == ("unconditional" not in request.node.name)


def test_of_two_that_create_a_file_one_does(homes: tuple[str, str]) -> None:
    one, other = map(open_store, homes)
    assert one.create("x", b"first")
    assert not other.create("x", b"second")
    assert other.read("x") == b"first"


@CONDITIONAL
def test_an_answer_that_got_lost_is_no_defeat(homes: tuple[str, str]) -> None:
    """The client repeats a PUT whose answer it did not get, and then finds its own object."""
    one, other = map(open_store, homes)
    assert one.create("x", b"mine")
    assert other.create("x", b"mine")


@CONDITIONAL
def test_a_driver_that_slept_past_its_lease_overwrites_nothing(
    homes: tuple[str, str], put: Any, ids: Any, forget: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It falls asleep after it has looked which commit is next. Its heir commits that very one."""
    sleeper = Category.create(homes[0], "clicks", SCHEMA, buckets=4)
    heir = Category.open(homes[1], "clicks")
    put(sleeper, 0, producer="app", batch=0)
    mine = put.write(sleeper, 10)
    look, committed = history.next_commit, []

    def look_and_sleep(category: Category, known: int = 0) -> int:
        number = look(category, known)
        if category is sleeper and not committed:
            committed.append(put(heir, 10, producer="app", batch=1))
        return number

    with monkeypatch.context() as patch:
        patch.setattr(appending.history, "next_commit", look_and_sleep)
        with pytest.raises(StateError, match="batch 1 of app was appended by another run") as caught:
            sleeper.append(mine, producer="app", batch=1)
    assert "nothing was overwritten" in (caught.value.hint or "")
    forget()
    assert heir.commit(1) == committed[0]
    assert heir.next_commit() == 2
    assert sorted(ids(heir)) == [*range(20)]
    assert put(heir, 20, producer="app", batch=2).number == 2


def test_a_lease_that_ran_out_forbids_to_commit(homes: tuple[str, str], put: Any, ids: Any) -> None:
    """The sleeper wakes up, and knows by its clock that it has to look before it writes."""
    now = [0.0]
    terms = Terms(renew_s=1000, expires_s=30, settle_s=0, look_s=0)
    stores = [open_store(home) for home in homes]
    held = Lease(stores[0], "lease.json", "application app", terms, clock=lambda: now[0])
    sleeper = Category.create(homes[0], "clicks", SCHEMA, buckets=4)
    held.take()
    put(sleeper, 0, producer="app", batch=0)
    now[0] = 100.0
    put(sleeper, 10, producer="app", batch=1)  # nobody has taken the lease: it is renewed, and goes on
    now[0] = 200.0
    ticks = iter(range(0, 1000, 10))
    heir = Lease(stores[1], "lease.json", "application app", terms, clock=lambda: float(next(ticks)))
    heir.take()
    with pytest.raises(StateError, match="no longer held by this run: another run has taken it"):
        put(sleeper, 20, producer="app", batch=2)
    assert sorted(ids(sleeper)) == [*range(20)]
    heir.release()
    held.release()
    assert put(Category.open(homes[1], "clicks"), 20, producer="app", batch=2).number == 2


def test_compaction_on_an_object_store(
    homes: tuple[str, str], put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch, forget: Callable[[], None]
) -> None:
    monkeypatch.setattr(compaction, "SHAPE", FileShape(span=3, fan=2, recent=1))
    category = Category.create(homes[0], "clicks", SCHEMA, buckets=4)
    for number in range(14):
        put(category, number * 10, producer="app", batch=number)
    forget()
    assert sorted(ids(Category.open(homes[1], "clicks"))) == [*range(140)]
    assert len(category.store.files(f"{category.folder}/segments")) < 8
    category.set_reader("reader", 7)
    assert category.retain() == 7
    assert sorted(ids(Category.open(homes[1], "clicks"))) == [*range(70, 140)]


def test_whoever_writes_a_side_compacts_it_where_the_store_can_lock(
    homes: tuple[str, str], put: Any, ids: Any, monkeypatch: pytest.MonkeyPatch, forget: Callable[[], None]
) -> None:
    """A slicer without its join, which is stopped or late; and a join that trims meanwhile gives way."""
    monkeypatch.setattr(compaction, "SHAPE", FileShape(span=3, fan=2, recent=1))
    monkeypatch.setattr(claims, "LOOKS", 1)
    side = Category.create(homes[0], "clicks", SCHEMA, buckets=4, role="side")
    for number in range(14):
        put(side, number * 10, producer="app", batch=number)
    files = len(side.store.files(f"{side.folder}/segments"))
    assert files < 8 if conditional(homes[0]) else files >= 14
    forget()
    of_join = Category.open(homes[1], "clicks")
    of_join.set_reader("reader", 7)
    with retention.locked(side) as held:
        assert held
        assert of_join.retain() == (0 if conditional(homes[0]) else 7)
    assert of_join.retain() == (7 if conditional(homes[0]) else 0)
    assert sorted(ids(of_join)) == [*range(70, 140)]
    put(side, 140, producer="app", batch=14)
    forget()
    assert sorted(ids(of_join)) == [*range(70, 150)]


def test_input_files_that_are_gone(
    server: S3, homes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark names them by its own scheme, and writes a blank as `%20`."""
    store = open_store(homes[0])
    for name in ("in/here 1.json", "in/here.json"):
        store.replace(name, b"{}")
    folder = homes[0].partition("?")[0].replace("s3://", "s3a://")
    files = [f"{folder}/in/{name}.json" for name in ("here%201", "here", "gone%202")]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.port}")
    assert vanished(files) == files[2:]
    assert vanished(["hdfs://name/in/gone.json"]) == []
    monkeypatch.setattr(fs, "FileSystem", _Refusing)
    assert vanished(files) == [], "where we cannot look, nothing is known to be gone"


class _Refusing:
    @staticmethod
    def from_uri(uri: str) -> None:
        raise OSError(f"no access to {uri}")


def test_the_probe_leaves_nothing(homes: tuple[str, str]) -> None:
    conditional(homes[0])
    store = open_store(homes[0])
    assert [entry.name for entry in store.files("")] == []
