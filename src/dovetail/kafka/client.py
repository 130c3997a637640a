"""The Kafka client: an extra of this package, and how it is set up."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from dovetail.errors import SettingError
from dovetail.secret import secret

_QUIET = logging.getLogger("dovetail.kafka.client")
_QUIET.setLevel(logging.CRITICAL)
"""What the client has to say about lost connections is in the state of its source."""


@dataclass(frozen=True)
class Cluster:
    """Where brokers are and how they are reached: settings of the client by name, and by name of a setting
    the name of the secret that is its value."""

    brokers: str
    settings: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, str], ...] = ()

    def configured(self, failed: Callable[[Any], None], **more: Any) -> dict[str, Any]:
        """For a client, which calls `failed` when a connection fails. `more`: settings with `_` for dots."""
        given = {"bootstrap.servers": self.brokers, "logger": _QUIET, "error_cb": failed}
        given |= dict(self.settings)
        given |= {setting: secret(name) for setting, name in self.secrets}
        return given | {name.replace("_", "."): value for name, value in more.items()}


def kafka() -> ModuleType:
    """The client's module."""
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError:
        raise SettingError(
            "reading or writing Kafka needs a client that is not installed",
            expected="the package confluent-kafka",
            hint='pip install "dovetail-joins[kafka]"',
        ) from None
    return confluent_kafka


def made(kind: Any, configuration: Mapping[str, Any]) -> Any:
    """A client. A setting that it refuses is an error that names the setting, and never its value."""
    try:
        return kind(dict(configuration))
    except kafka().KafkaException as error:
        refused = error.args[0].str()
        name = next((one for one in configuration if one in refused), None)
        raise SettingError(
            f"the Kafka client does not accept {f'the setting {name}' if name else 'its settings'}",
            expected="settings as librdkafka documents them",
            hint="correct the options of KAFKA(...)" if name else None,
        ) from None
