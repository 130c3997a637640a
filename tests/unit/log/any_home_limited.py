"""The laws of limits over a home that is not on disk (`any_home.py`)."""

# ruff: noqa: F401
from laws.effort import THOROUGH
from unit.log.test_log_limits import (
    made,
    now,
    test_a_mark_that_nobody_renews_expires_with_the_rows,
    test_a_reader_holds_rows_back_beyond_the_limits,
    test_a_removed_application_holds_back_no_input,
    test_by_size,
    test_limits_that_do_not_read_delete_nothing,
    test_what_a_query_says_holds_and_what_it_does_not_say_stays,
)

if THOROUGH:
    from unit.log.test_log_limits import (
        test_by_size_in_bundles,
        test_categories_of_older_releases_have_a_role_too,
        test_every_category_has_limits,
        test_the_side_of_a_removed_application_is_of_no_use,
        test_whoever_appends_sees_to_it,
        test_without_a_limit_of_age_a_mark_never_expires,
    )
