"""The Kafka client: which of its settings are options, and how it is set up.

A setting of the client has its own name with `_` in place of dots: `sasl_mechanism` is `sasl.mechanism`. Only
settings that say how brokers are reached and how much is fetched or sent at once are options. What decides
which records come, and how often, is not for a setting to change."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from dovetail.connectors.extras import need
from dovetail.connectors.options import Option
from dovetail.errors import SettingError

SECRETS = (
    "sasl_password",
    "sasl_oauthbearer_client_secret",
    "ssl_key_password",
    "ssl_keystore_password",
    "ssl_key_pem",
)
"""Settings whose value may only be SECRET("name")."""
MAYBE_SECRETS = ("sasl_username", "ssl_ca_pem")
"""Those that may be SECRET("name") or text."""
SETTINGS = (
    "security_protocol",
    "sasl_mechanism",
    "sasl_username",
    "sasl_kerberos_service_name",
    "sasl_kerberos_principal",
    "sasl_kerberos_keytab",
    "sasl_oauthbearer_method",
    "sasl_oauthbearer_client_id",
    "sasl_oauthbearer_scope",
    "sasl_oauthbearer_extensions",
    "sasl_oauthbearer_token_endpoint_url",
    "ssl_ca_location",
    "ssl_ca_pem",
    "ssl_certificate_location",
    "ssl_certificate_pem",
    "ssl_key_location",
    "ssl_keystore_location",
    "ssl_cipher_suites",
    "ssl_endpoint_identification_algorithm",
    "enable_ssl_certificate_verification",
    "client_id",
    "client_rack",
    "client_dns_lookup",
    "broker_address_family",
    "socket_timeout_ms",
    "socket_keepalive_enable",
    "connections_max_idle_ms",
    "message_max_bytes",
)
READING = (
    "fetch_wait_max_ms",
    "fetch_min_bytes",
    "fetch_max_bytes",
    "fetch_message_max_bytes",
    "queued_max_messages_kbytes",
)
WRITING = ("linger_ms", "batch_size", "compression_type", "queue_buffering_max_kbytes")
LONGEST_TOPIC = 249
TOPIC_NAMES = f"letters, digits, `.`, `_` and `-`, at most {LONGEST_TOPIC} of them"

_QUIET = logging.getLogger("dovetail.kafka")
_QUIET.setLevel(logging.CRITICAL)
"""What the client has to say about lost connections is in the state of its source or sink."""


def client_options(more: tuple[str, ...]) -> tuple[Option, ...]:
    """Settings as options of a connector. `more`: beside those that all have."""
    plain = [
        Option(name, "text", "A setting of the client.", secret=name in MAYBE_SECRETS)
        for name in (*SETTINGS, *more)
    ]
    return (*plain, *(Option(name, "secret", "A secret of the client.", secret=True) for name in SECRETS))


def is_topic(name: str) -> bool:
    """Whether a topic may have this name."""
    known = all(c.isascii() and (c.isalnum() or c in "._-") for c in name)
    return known and 0 < len(name) <= LONGEST_TOPIC and name not in (".", "..")


@dataclass(frozen=True)
class Cluster:
    """Where brokers are, and how they are reached: settings of the client, secrets among them."""

    brokers: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def configured(self, failed: Callable[[Any], None], **more: Any) -> dict[str, Any]:
        """For a client, which calls `failed` when a connection fails. `more`: settings with `_` for dots, for
        which the user's count more."""
        return self.plain(**more) | {"logger": _QUIET, "error_cb": failed}

    def plain(self, **more: Any) -> dict[str, Any]:
        """Settings alone, for a client that gets its callbacks by other means."""
        given = {_setting(name): value for name, value in more.items()}
        return given | {"bootstrap.servers": self.brokers} | dict(self.settings)


def cluster_of(given: Mapping[str, Any]) -> Cluster:
    """By the options of a connector, with their secrets revealed."""
    known = (*SETTINGS, *READING, *WRITING, *SECRETS)
    settings = {_setting(name): str(given[name]) for name in known if given.get(name) is not None}
    return Cluster(given["brokers"], settings)


def kafka(by: str = "FROM KAFKA") -> ModuleType:
    """The client's module. `by`: what needs it."""
    need("kafka", "confluent_kafka.admin", by=by)
    return need("kafka", "confluent_kafka", by=by)


def made(kind: Any, configuration: Mapping[str, Any]) -> Any:
    """A client. A setting that it refuses is an error that names the setting, and never its value."""
    try:
        return kind(dict(configuration))
    except kafka().KafkaException as error:
        refused = error.args[0].str()
        raise refused_setting(next((one for one in configuration if one in refused), None)) from None


def refused_setting(name: str | None) -> SettingError:
    return SettingError(
        f"the Kafka client does not accept {f'the setting {name}' if name else 'its settings'}",
        expected="settings as librdkafka documents them",
        hint="correct the options of KAFKA(...)",
    )


def _setting(option: str) -> str:
    """What the client calls it."""
    return option.replace("_", ".")
