"""Every kernel that a join calls is compiled ahead: a first join waits for none."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest
from numba.core.dispatcher import Dispatcher

from dovetail.engine.warm import warm
from dovetail.joins.windowed.kernels import copies
from dovetail.kernels import gather, pick, ring


@pytest.mark.parametrize("kernels", [ring, gather, pick, copies], ids=lambda module: module.__name__)
def test_each_kernel_is_called(kernels: ModuleType) -> None:
    module = kernels.__name__.rpartition(".")[2]
    made = [name for name, found in vars(kernels).items() if isinstance(found, Dispatcher)]
    mine = [name for name in made if getattr(kernels, name).py_func.__module__ == kernels.__name__]
    text = inspect.getsource(warm)
    assert [name for name in mine if not name.startswith("_") and f"{module}.{name}(" not in text] == []
    assert mine
