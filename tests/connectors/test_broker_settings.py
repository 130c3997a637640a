"""Secrets and settings of the client."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.topics import Topics
from dovetail.connectors.kafka_client import Cluster, cluster_of, made
from dovetail.connectors.secret import Secret, reveal
from dovetail.errors import SettingError
from dovetail.kafka.topic import Topic, Trouble


def test_a_secret_reaches_the_client_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("kafka_password", "hunter2")
    options = [("brokers", "b:1"), ("sasl_username", "me"), ("sasl_password", Secret("kafka_password"))]
    cluster = cluster_of(reveal(options).values)
    configured = cluster.configured(lambda error: None, group_id="g")
    assert configured["sasl.password"] == "hunter2"
    assert configured["group.id"] == "g"
    assert "hunter2" not in repr(cluster)


def test_a_setting_that_the_client_refuses_is_named_without_its_value() -> None:
    from confluent_kafka import Consumer

    cluster = Cluster("b:1", {"security.protocol": "hunter2"})
    with pytest.raises(SettingError, match=r"security\.protocol") as refused:
        made(Consumer, cluster.configured(lambda error: None, group_id="g"))
    assert "hunter2" not in str(refused.value)


def test_wrong_credentials_are_waited_for(topics: Topics, tmp_path: Path) -> None:
    """The broker speaks no TLS: what the client says about it is the reason."""
    topic = topics.make()
    wrong = Topic(Cluster(topics.address, {"security.protocol": "SSL"}), topic)
    with pytest.raises(Trouble, match="waiting for brokers"):
        wrong.describe()
    right = Topic(Cluster(topics.address), topic)
    assert right.describe().partitions == {0}
