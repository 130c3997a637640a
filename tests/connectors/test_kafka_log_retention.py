"""The laws of retention on a home on Kafka: the same tests, with another home."""

from connectors.test_kafka_log import an_hour_has_passed, homes  # noqa: F401
from unit.log.conftest import fresh  # noqa: F401
from unit.log.test_log_retention import *  # noqa: F403
