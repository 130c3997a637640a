"""The laws of limits on a home on S3: the same tests, with another home."""

from unit.log.any_home_limited import *  # noqa: F403
from unit.log.test_log_on_s3 import an_hour_has_passed, homes, server  # noqa: F401
