"""The log's own laws over a home that is not on disk: tests of each such home import them, and have a fixture
`homes` of their own. In a usual run those that find most, in a thorough one all that apply.

What does not apply elsewhere:

- tests that put a file of their own making in place of a segment, by its path on disk: what they check is the
  format, which does not depend on the home
- two writers at once under one producer's name. On disk a lock lets them take turns; elsewhere the one that
  came second gets an error (`test_a_driver_that_slept_overwrites_nothing`)
- that files are mapped into memory, that listing is avoided, and that names made on the way are gone: these
  are virtues of files on disk
"""

# ruff: noqa: F401
from collections.abc import Callable

from laws.effort import THOROUGH
from unit.log.test_log_append import (
    test_a_batch_enters_once,
    test_a_commit_names_no_file_that_is_not_there,
    test_a_log_shorter_than_what_was_read_is_an_error,
    test_a_lost_commit_is_an_error,
    test_a_writer_that_slept_through_retention_finds_the_end,
    test_rejected_rows_are_named_and_read_back,
)
from unit.log.test_log_corruption import (
    filled,
    packed,
    test_a_commit_of_another_number_or_category_is_refused,
    test_a_damaged_compressed_category_is_noticed,
    test_a_damaged_file_is_noticed,
    test_a_missing_segment_is_named,
    test_commits_that_do_not_join_up_are_refused,
    test_the_file_of_another_reader_is_refused,
)
from unit.log.test_log_crash import test_append
from unit.log.test_log_writer import append_many

if THOROUGH:
    from unit.log.test_log_append import (
        test_a_producer_needs_a_batch,
        test_a_repeated_batch_gives_its_commit_among_many,
        test_nothing_to_append_is_no_commit,
        test_processes_make_the_category_and_append_at_once,
        test_the_segments_of_a_commit_are_numbered_in_their_order,
        test_without_a_producer_every_call_commits,
    )
    from unit.log.test_log_corruption import (
        test_a_damaged_file_of_rejected_rows_is_noticed,
        test_a_later_version_names_the_remedy,
        test_a_name_that_leads_elsewhere_is_refused,
        test_a_segment_compressed_otherwise_than_its_commit_says,
        test_a_sound_file_with_a_senseless_body,
        test_another_dictionary_under_the_name_is_refused,
    )
    from unit.log.test_log_crash import test_append_of_many_segments, test_create, test_retain
    from unit.log.test_log_round_trip import (
        test_creating_again_opens_and_creating_another_is_refused,
        test_dictionaries_are_decoded_and_types_widened,
        test_every_type_comes_back,
        test_the_sketch_of_a_commit_covers_its_segments,
    )


def test_several_writers_at_once(homes: Callable[[str], str]) -> None:
    """Programs, each with a name."""
    append_many(homes("writers"), 3, 6)
