"""How many examples each law is tried on: `HYPOTHESIS_PROFILE=thorough pytest tests/laws` for a long run.

A usual run tries the same examples every time; a thorough one tries new ones, and prints what reproduces a
failure. A failure worth keeping becomes an `@example` of its law.
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
