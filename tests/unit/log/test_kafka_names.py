"""The files of a home on Kafka, by the records of their names: a function of the records and their order."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import CorruptFile, HomeError, UnknownVersion
from dovetail.log import document
from dovetail.log.homes.kafka.address import VARIABLE, address_of
from dovetail.log.homes.kafka.names import CREATED, KIND, FilePart, Named, Names, decoded, encoded

Records = list[tuple[str, bytes | None]]


def small(key: str, id_: str, content: bytes = b"x") -> tuple[str, bytes]:
    return key, encoded(Named(key, id_, len(content), content=content))


def folded(records: Records, offsets: list[int] | None = None) -> Names:
    names = Names("kafka://b/h")
    for offset, (key, value) in zip(offsets or itertools.count(), records, strict=False):
        names.fold(key, value, offset=offset, written_s=1.0)
    return names


def test_of_two_that_are_created_the_first_counts() -> None:
    names = folded([small("a/b\n1", "1"), small("a/b\n2", "2")])
    found = names.get("a/b")
    assert found is not None
    assert found.id == "1"
    assert names.keys("a/b") == ["a/b\n1", "a/b\n2"]


def test_of_two_that_replace_the_last_counts() -> None:
    found = folded([small("a", "1"), small("a", "2", b"newer")]).get("a")
    assert found is not None
    assert (found.id, found.content, found.offset) == ("2", b"newer", 1)


def test_a_file_that_is_gone_may_be_created_again() -> None:
    records: Records = [small("a\n1", "1"), ("a\n1", None), small("a\n2", "2")]
    found = folded(records).get("a")
    assert found is not None
    assert found.id == "2"
    assert folded(records[:2]).get("a") is None


def test_to_take_back_what_came_too_late_changes_nothing() -> None:
    names = folded([small("a\n1", "1"), small("a\n2", "2"), ("a\n2", None)])
    found = names.get("a")
    assert found is not None
    assert found.id == "1"
    assert names.keys("a") == ["a\n1"]


def test_folders_are_there_while_they_have_files() -> None:
    names = folded([small("log/c/first.json", "1"), small("log/c/commits/0\n1", "2"), small("x", "3")])
    assert names.folders("") == ["log"]
    assert names.folders("log") == ["c"]
    assert names.folders("log/c") == ["commits"]
    assert [entry.name for entry in names.entries("log/c")] == ["first.json"]
    assert list(names.inside("")) == ["x"]
    names.fold("log/c/commits/0\n1", None, offset=9, written_s=2.0)
    assert names.folders("log/c") == []


paths = st.sampled_from(["a", "f/a", "f/b"])
actions = st.lists(st.tuples(st.sampled_from(["create", "replace", "delete"]), paths), max_size=25)


@given(actions)
def test_compaction_does_not_change_what_is_there(wanted: list[tuple[str, str]]) -> None:
    """The broker keeps the last record of each key, and in the end drops those without a value. Each action
    writes what the store writes, and who came too late takes back what it wrote."""
    records: Records = []
    for number, (action, path) in enumerate(wanted):
        names = folded(records)
        if action == "create":
            key = f"{path}{CREATED}{number}"
            records.append(small(key, str(number)))
            if names.get(path) is not None and number % 2:  # others are still on their way
                records.append((key, None))
        elif action == "replace":
            records.append(small(path, str(number)))
        else:
            records += [(key, None) for key in names.keys(path)]
    last = {key: offset for offset, (key, _) in enumerate(records)}
    kept = [(offset, records[offset]) for offset in sorted(last.values()) if records[offset][1] is not None]
    all_, compacted = folded(records), folded([one for _, one in kept], [offset for offset, _ in kept])
    for path in ("a", "f/a", "f/b"):
        assert all_.get(path) == compacted.get(path)


def test_a_record_comes_back() -> None:
    inline = Named("a", "1", 3, True, content=b"x\ny")
    apart = Named("a", "2", 30, False, topic="h.content", parts=(FilePart(7, 10), FilePart(9, 20)))
    for file in (inline, apart):
        assert decoded("a", encoded(file), where="here") == file


def test_a_damaged_record_is_noticed() -> None:
    data = encoded(Named("a", "1", 30, topic="h.content", parts=(FilePart(7, 10), FilePart(9, 20))))
    for position in range(len(data) - 1):
        changed = bytearray(data)
        changed[position] ^= 1
        names = folded([("a", bytes(changed))])
        found = names.get("a")
        assert found is not None
        assert isinstance(found.damage, CorruptFile | UnknownVersion), changed
        assert found.damage.where == "kafka://b/h/a"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"id": "1", "size": 2, "final": True},
        {"id": "1", "size": 2, "final": True, "topic": "t", "parts": [[0, 1]]},
        {"id": "1", "size": 2, "final": True, "topic": "t", "parts": [[-1, 2]]},
        {"id": 1, "size": 2, "final": True, "topic": "t", "parts": [[0, 2]]},
    ],
)
def test_a_sound_record_that_makes_no_sense(body: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile, match="nothing of use"):
        decoded("a", document.encode(KIND, 1, body), where="here")


def test_an_address() -> None:
    found = address_of("kafka://one:9092,two:9092/company/prod?security.protocol=SSL", {})
    assert (found.brokers, found.prefix) == ("one:9092,two:9092", "company.prod")
    assert found.settings == {"security.protocol": "SSL"}
    assert found.topic("log.clicks") == "company.prod.log.clicks"
    with pytest.raises(HomeError, match="too long"):
        found.topic("log." + "x" * 240)


@pytest.mark.parametrize(
    "home", ["kafka://one:9092", "kafka:///x", "kafka://user:secret@one:9092/x", "kafka://one:9092/ü"]
)
def test_what_is_no_address(home: str) -> None:
    with pytest.raises(HomeError, match="not an address on Kafka") as caught:
        address_of(home, {})
    assert "secret" not in str(caught.value)


def test_settings_on_which_nothing_being_lost_depends() -> None:
    for setting in ("acks=0", "enable.idempotence=false", "transactional.id=x", "group.id=x"):
        with pytest.raises(HomeError, match="cannot be set in the address of a home"):
            address_of(f"kafka://one:9092/x?{setting}", {})


def test_secrets_are_in_a_file(tmp_path: Any) -> None:
    path = tmp_path / "kafka.properties"
    path.write_text("# how we are let in\nsasl.username = me\nsasl.password=a=b\n\n")
    found = address_of("kafka://one:9092/x?sasl.username=you", {VARIABLE: str(path)})
    assert found.settings == {"sasl.username": "you", "sasl.password": "a=b"}
    assert "a=b" not in repr(found)
    path.write_text("hidden")
    with pytest.raises(HomeError, match="line 1 is not a setting") as caught:
        address_of("kafka://one:9092/x", {VARIABLE: str(path)})
    assert "hidden" not in str(caught.value)
    with pytest.raises(HomeError, match="cannot be read"):
        address_of("kafka://one:9092/x", {VARIABLE: str(tmp_path / "none")})
