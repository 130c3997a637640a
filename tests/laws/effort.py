"""The number of examples for each law.

A usual run tries the same few examples every time. `dovetail test search` (or `HYPOTHESIS_PROFILE=thorough
pytest tests/laws`) tries thousands of new ones and prints how to reproduce a failure. A failure worth keeping
becomes an `@example` of its law.
"""

import os

from hypothesis import settings

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def examples(usual: int, thorough: int) -> settings:
    """Settings for one law, on top of those that all tests share."""
    if THOROUGH:
        return settings(max_examples=thorough, derandomize=False, print_blob=True, deadline=None)
    return settings(max_examples=usual, deadline=None)


tried = examples(usual=50, thorough=3000)
