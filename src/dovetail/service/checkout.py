"""The checkout around the running package, if there is one: an editable install has it, a wheel does not.

Tests, benchmarks and the commands that run them (`dev/dovetail_dev`) are there only.
"""

from __future__ import annotations

from pathlib import Path


def find_checkout(package_file: Path = Path(__file__)) -> Path | None:
    """The root of the checkout that the running package was imported from."""
    root = package_file.resolve().parents[3]
    return root if (root / "pyproject.toml").is_file() and (root / "dev" / "dovetail_dev").is_dir() else None


def checkout_root() -> Path:
    """The same, for those that are themselves part of the checkout."""
    root = find_checkout()
    assert root is not None, "the package was not imported from a checkout"
    return root
