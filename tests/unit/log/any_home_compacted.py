"""The laws of compaction, of checkpoints and of promises over a home that is not on disk (`any_home.py`). Of
checkpoints, tests that damage one by its path on disk do not apply."""

# ruff: noqa: F401
from laws.effort import THOROUGH
from unit.log.test_log_checkpoints import fill
from unit.log.test_log_compaction import small, test_retention_in_the_middle_of_a_bundle

if THOROUGH:
    from unit.log.test_log_checkpoints import (
        test_columns_say_what_commits_say,
        test_limits_are_kept_by_columns_and_by_commits_alike,
        test_there_are_few_of_them,
        test_they_go_with_their_commits,
    )
    from unit.log.test_log_compaction import (
        test_a_bundled_log_says_the_same,
        test_a_crash_anywhere,
        test_a_damaged_bundle_is_an_error,
        test_a_damaged_record_is_found_again_by_looking,
        test_a_file_that_such_a_writer_left_deceives_nobody,
        test_a_reader_in_the_middle_goes_on,
        test_a_writer_that_slept_through_it_gives_its_number_back,
        test_appends_keep_the_files_few,
        test_large_segments_stay_files_and_go_with_their_commits,
    )
    from unit.log.test_log_promises import (
        test_a_promise_stays_until_there_is_news,
        test_news_enters_once,
        test_promises_survive_compaction,
        test_the_smallest_promise_of_all_producers_counts,
    )
