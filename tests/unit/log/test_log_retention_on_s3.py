"""The laws of retention on a home on S3: the same tests, with another home."""

from unit.log.test_log_on_s3 import an_hour_has_passed, homes, server  # noqa: F401
from unit.log.test_log_retention import (  # noqa: F401
    filled,
    test_a_commit_that_is_damaged_goes_with_the_rest,
    test_a_damaged_floor_stops_retention,
    test_orphans_go_after_a_while,
    test_the_lowest_floor_counts,
    test_the_newest_commit_stays_and_numbers_go_on,
    test_what_is_gone_is_an_error_that_says_so,
)
