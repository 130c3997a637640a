"""The repository around the installed package: `dovetail test` and `dovetail bench` run what lies there.

A wheel carries neither tests nor benchmarks, so both commands need an editable install in a checkout, which
is what the launcher makes.
"""

from __future__ import annotations

from pathlib import Path

from dovetail.errors import InputError


def checkout_root(package_file: Path = Path(__file__)) -> Path:
    """The checkout that the running package was imported from, or an error that says how to get one."""
    root = package_file.resolve().parents[3]
    if (root / "pyproject.toml").is_file() and (root / "tests").is_dir():
        return root
    raise InputError(
        "this command needs the repository: tests and benchmarks are not part of the installed package",
        where=str(package_file.resolve().parents[1]),
        expected="a package imported from src/ of a checkout that has pyproject.toml and tests/",
        hint="clone the repository and call ./dovetail in it",
    )
