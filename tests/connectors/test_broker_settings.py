"""Secrets and settings of the client."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.test_kafka_sink import SCHEMA, opened, rows, values, written
from connectors.topics import Topics
from dovetail.connectors.kafka_client import Cluster, cluster_of, made
from dovetail.connectors.secret import Secret, reveal
from dovetail.errors import SettingError, Unreachable
from dovetail.kafka.topic import Topic, Trouble
from dovetail.kafka.topic_reader import TopicReader
from dovetail_dev.kafka_broker import PASSWORD, USER, Broker
from dovetail_dev.ports import free_port
from dovetail_dev.spark_cluster import until
from spark.application import Application


def test_a_secret_reaches_the_client_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("kafka_password", "hunter2")
    options = [("brokers", "b:1"), ("sasl_username", "me"), ("sasl_password", Secret("kafka_password"))]
    cluster = cluster_of(reveal(options).values)
    configured = cluster.configured(lambda error: None, group_id="g")
    assert configured["sasl.password"] == "hunter2"
    assert configured["group.id"] == "g"
    assert "hunter2" not in repr(cluster)


def test_tokens_of_oauth(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client knows each setting by the name that it gets, and takes them together."""
    from confluent_kafka.admin import AdminClient

    monkeypatch.setenv("client_secret", "hunter2")
    said = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_method": "oidc",
        "sasl_oauthbearer_client_id": "dovetail",
        "sasl_oauthbearer_client_secret": Secret("client_secret"),
        "sasl_oauthbearer_token_endpoint_url": f"http://127.0.0.1:{free_port()}/token",
        "sasl_oauthbearer_scope": "rows",
        "sasl_oauthbearer_extensions": "logicalCluster=a",
    }
    cluster = cluster_of(reveal([("brokers", "127.0.0.1:1"), *said.items()]).values)
    assert cluster.settings["sasl.oauthbearer.client.secret"] == "hunter2"
    assert len(cluster.settings) == len(said)
    assert made(AdminClient, cluster.configured(lambda error: None)) is not None


def test_a_setting_that_the_client_refuses_is_named_without_its_value() -> None:
    from confluent_kafka import Consumer

    cluster = Cluster("b:1", {"security.protocol": "hunter2"})
    with pytest.raises(SettingError, match=r"security\.protocol") as refused:
        made(Consumer, cluster.configured(lambda error: None, group_id="g"))
    assert "hunter2" not in str(refused.value)


def secured(broker: Broker, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    return {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": mechanism,
        "sasl_username": USER,
        "sasl_password": password,
        "ssl_ca_location": str(broker.certificate),
    }


def words_of(settings: dict[str, str], brokers: str, topic: str, words: str) -> str:
    """What is said of brokers that do not answer, once these words are in it: the client has to come that far
    first, which may take it longer than an answer."""
    asked, said = Topic(cluster_of({"brokers": brokers, **settings}), topic), [""]

    def refused() -> bool:
        with pytest.raises(Trouble, match="waiting for brokers") as trouble:
            asked.describe()
        said[0] = str(trouble.value)
        return words in said[0]

    until(refused, words)
    return said[0]


@pytest.mark.usefixtures("slow_is_not_away")
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_records_go_through_tls_and_passwords(broker: Broker, topics: Topics, mechanism: str) -> None:
    topic = topics.make()
    sink = opened(broker.secure_address, topic, **secured(broker, mechanism))
    sink.prepare(SCHEMA)
    sink.commit(0, written(sink, rows(range(10))))
    cluster = cluster_of({"brokers": broker.secure_address, **secured(broker, mechanism)})
    reader = TopicReader(Topic(cluster, topic), ())
    reader.add(Topic(cluster, topic).begin([0]))
    found: list[bytes] = []
    until(lambda: found.extend(reader.read(100, 0.1).values.to_pylist()) or len(found) == 10, "the records")
    reader.close()


def test_wrong_credentials_are_waited_for(
    broker: Broker, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong password, a certificate that nobody signed, a broker that speaks no TLS there: the reason is
    the client's, and the state that of brokers that are away."""
    monkeypatch.setattr("dovetail.connectors.sinks.kafka.ANSWER_S", 4.0)
    topic = topics.make()
    settings = secured(broker, "PLAIN", "wrong-password")
    assert "wrong-password" not in words_of(settings, broker.secure_address, topic, "uthentication failed")
    with pytest.raises(Unreachable, match="waiting for brokers") as away:
        opened(broker.secure_address, topic, **settings).check(SCHEMA)
    assert "wrong-password" not in str(away.value)
    unsigned = {name: value for name, value in secured(broker, "PLAIN").items() if name != "ssl_ca_location"}
    assert words_of(unsigned, broker.secure_address, topic, "certificate")
    with pytest.raises(Trouble, match="waiting for brokers"):
        Topic(Cluster(topics.address, {"security.protocol": "SSL"}), topic).describe()
    monkeypatch.setattr("dovetail.kafka.topic.ANSWER_S", 60.0)
    assert Topic(Cluster(topics.address), topic).describe().partitions == {0}


QUERY = """
    CREATE APPLICATION guarded;
    CREATE INPUT TABLE clicks (k BIGINT, word STRING)
    FROM KAFKA("{source}", brokers = "{brokers}", format = "json", {settings});
    CREATE TABLE words AS SELECT k, upper(word) AS word FROM clicks
    STORAGE KAFKA(topic = "{target}", brokers = "{brokers}", {settings});
"""


def test_a_secret_is_nowhere_in_the_home(
    application: Application,
    broker: Broker,
    topics: Topics,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """From topic to topic with a password: plan, versions, checkpoints, reports and what is printed have its
    name."""
    monkeypatch.setenv("kafka_password", PASSWORD)
    source, target = topics.make("source"), topics.make("target")
    topics.write(source, [{"k": n, "word": "a"} for n in range(5)])
    settings = secured(broker, "SCRAM-SHA-256") | {"sasl_password": "?"}
    shown = ", ".join(f'{name} = "{value}"' for name, value in settings.items())
    query = QUERY.replace("{settings}", shown.replace('"?"', 'SECRET("kafka_password")'))
    query = query.replace("{source}", source).replace("{target}", target)
    application.run(query.replace("{brokers}", broker.secure_address))
    assert values(topics, target) == [{"k": n, "word": "A"} for n in range(5)]
    files = [file for file in Path(application.home).rglob("*") if file.is_file()]
    assert any(b"kafka_password" in file.read_bytes() for file in files)
    assert [file for file in files if PASSWORD.encode() in file.read_bytes()] == []
    assert PASSWORD not in "".join(capfd.readouterr())
