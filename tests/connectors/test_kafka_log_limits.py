"""The laws of limits on a home on Kafka: the same tests, with another home."""

from connectors.test_kafka_log import an_hour_has_passed, homes  # noqa: F401
from unit.log.any_home_limited import *  # noqa: F403
from unit.log.conftest import fresh  # noqa: F401
