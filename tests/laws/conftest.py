"""How many examples the laws are tried on: `HYPOTHESIS_PROFILE=thorough pytest tests/laws` for a long run."""

import os

from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, so no example has a deadline.
settings.register_profile(
    "laws", max_examples=50, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("laws"), max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "laws"))
