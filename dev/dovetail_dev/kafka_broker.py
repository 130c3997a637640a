"""A Kafka broker on loopback: one node, in a process of its own.

Its jars are fetched once for each machine (`ivy.py`)."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path

from dovetail_dev.ivy import fetched, retrieve
from dovetail_dev.ports import free_port

VERSION = "4.0.1"
"""Later ones, as of 4.3.1, lose transactions: a coordinator that starts takes partitions that have no leader
yet for deleted ones, does not tell them that a transaction is committed, and forgets it. Where all brokers
die at once, as the only one does here, what was written last can then never be read."""
PATIENCE_S = 300
USER, PASSWORD = "dovetail", "hunter2-of-tests"
"""Whom the secure listener of a broker knows, by PLAIN and by SCRAM-SHA-256."""
_LOGIN = "org.apache.kafka.common.security"
_IVY = f"""<ivy-module version="2.0">
  <info organisation="dovetail" module="kafka-broker"/>
  <configurations><conf name="broker"/></configurations>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{VERSION}" conf="broker->default"/>
  </dependencies>
</ivy-module>
"""
_SMALL = ("-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=WARN")


def broker_jars() -> Path:
    """The folder of the broker's jars, fetched if it is not there."""
    return fetched(f"kafka-{VERSION}", _fetch)


def _fetch(cache: Path, draft: Path) -> None:
    (cache / "ivy.xml").write_text(_IVY)
    pattern = f"{draft.name}/[artifact]-[revision].[ext]"
    asked = ["-ivy", "ivy.xml", "-confs", "broker", "-types", "jar", "bundle", "-retrieve", pattern]
    retrieve(cache, "the Kafka broker", *asked)


class Broker:
    """Formatted when it is made; a test may `start` and `kill` it often. Its ports and its topics stay. At
    `secure_address` it speaks SASL over TLS, with a certificate that clients have to be given."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._classes = folder, f"{broker_jars()}/*"
        self.port, controller, secure = free_port(), free_port(), free_port()
        self.address, self.secure_address = f"127.0.0.1:{self.port}", f"127.0.0.1:{secure}"
        self.certificate = _certified(folder)
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "server.properties").write_text(
            "\n".join(
                [
                    "process.roles=broker,controller",
                    "node.id=1",
                    f"controller.quorum.voters=1@127.0.0.1:{controller}",
                    f"listeners=PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller},"
                    f"SECURE://{self.secure_address}",
                    f"advertised.listeners=PLAINTEXT://{self.address},SECURE://{self.secure_address}",
                    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
                    "controller.listener.names=CONTROLLER",
                    "inter.broker.listener.name=PLAINTEXT",
                    "listener.name.secure.ssl.keystore.type=PEM",
                    f"listener.name.secure.ssl.keystore.location={folder}/server.pem",
                    "listener.name.secure.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256",
                    f"listener.name.secure.plain.sasl.jaas.config={_LOGIN}.plain.PlainLoginModule required "
                    f'user_{USER}="{PASSWORD}";',
                    "listener.name.secure.scram-sha-256.sasl.jaas.config="
                    f"{_LOGIN}.scram.ScramLoginModule required;",
                    f"log.dirs={folder}/log",
                    "auto.create.topics.enable=false",
                    "num.partitions=1",
                    "offsets.topic.num.partitions=1",
                    "offsets.topic.replication.factor=1",
                    "transaction.state.log.num.partitions=1",
                    "transaction.state.log.replication.factor=1",
                    "transaction.state.log.min.isr=1",
                    "group.initial.rebalance.delay.ms=0",
                    "broker.session.timeout.ms=4000",  # a broker that was killed is known for so long
                    "broker.heartbeat.interval.ms=500",
                    "log.cleaner.backoff.ms=200",
                    "log.retention.check.interval.ms=500",
                    "log.initial.task.delay.ms=500",
                    "message.max.bytes=20000000",
                    "replica.fetch.max.bytes=20000000",
                ]
            )
        )
        scram = f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]"
        named = "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", "server.properties", "--add-scram", scram
        self._run("kafka.tools.StorageTool", "format", *named)

    def start(self) -> None:
        with open(self._folder / "broker.log", "ab") as log:
            self._process = subprocess.Popen(
                self._command("kafka.Kafka", "server.properties"),
                cwd=self._folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )
        deadline_s = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert time.monotonic() < deadline_s, "the broker does not answer"
            time.sleep(0.05)

    @property
    def runs(self) -> bool:
        return self._process is not None

    def kill(self) -> None:
        """As a machine that loses its power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def hang(self) -> None:
        """It keeps its connections, and answers nobody."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, what: int) -> None:
        assert self._process is not None
        self._process.send_signal(what)

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        said = (self._folder / "broker.log").read_text()[-3000:]
        assert self._process is not None
        assert self._process.poll() is None, f"the broker has ended:\n{said}"
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", self.port)) != 0:
                return False
        try:
            admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
            return bool(admin.list_topics(timeout=2).brokers)
        except KafkaException:
            return False

    def _run(self, *arguments: str) -> None:
        done = subprocess.run(
            self._command(*arguments), cwd=self._folder, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{arguments[0]} has failed:\n{done.stdout}{done.stderr}"

    def _command(self, *arguments: str) -> list[str]:
        return ["java", *_SMALL, "-cp", self._classes, *arguments]


def _certified(folder: Path) -> Path:
    """A certificate that signs itself, for this machine."""
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    asked = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "key.pem", "-out", "ca.pem"]
    subprocess.run(["openssl", "req", *asked, *subject], cwd=folder, check=True, capture_output=True)
    (folder / "server.pem").write_text((folder / "key.pem").read_text() + (folder / "ca.pem").read_text())
    return folder / "ca.pem"
