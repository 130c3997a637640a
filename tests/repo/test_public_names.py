"""What `import dovetail` gives: every public name has a home, and none is fetched before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dovetail


def test_every_public_name_is_there() -> None:
    for name in dovetail.__all__:
        assert getattr(dovetail, name) is not None, name
    assert sorted(dir(dovetail)) == sorted(dovetail.__all__)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = dovetail.nothing


def test_the_import_alone_is_light() -> None:
    said = "import sys, dovetail; print(sorted({'pyspark', 'numba', 'pyarrow'} & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
