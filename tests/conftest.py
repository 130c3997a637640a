"""What every tier shares: reproducible Hypothesis runs, and no setting of the person's own shell."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "dovetail",
    deadline=None,  # the machine may be slow; speed is measured in bench/
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dovetail")


@pytest.fixture(autouse=True, scope="session")
def _no_settings_of_the_shell() -> None:
    for name in [name for name in os.environ if name.startswith("DOVETAIL_")]:
        del os.environ[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sliding joins last: until then `compile_ahead` has compiled their kernels, once for all processes."""
    items.sort(key=lambda item: "sliding" in item.path.parts)
