"""Memory by its address, for kernels: what Arrow maps is reached without making an array of each piece."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic


def _load(typing: Any, address: Any, like: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_value_type(like).as_pointer())
        return builder.load(pointer)

    return like(address, like), generate


def _store(typing: Any, address: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], context.get_value_type(value).as_pointer())
        builder.store(arguments[1], pointer)
        return context.get_dummy_value()

    return types.void(address, value), generate


def _call(typing: Any, function: Any, arguments: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        word = ir.IntType(64)
        values = [builder.extract_value(given[1], n) for n in range(len(arguments))]
        pointer = builder.inttoptr(given[0], ir.FunctionType(word, [word] * len(values)).as_pointer())
        return builder.call(pointer, values)

    return types.int64(function, arguments), generate


def _copy(typing: Any, target: Any, source: Any, count: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        to, from_ = (builder.inttoptr(address, byte) for address in arguments[:2])
        cgutils.raw_memcpy(builder, to, from_, arguments[2], 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(target, source, count), generate


def _as_python() -> tuple[Any, ...]:
    """For kernels that run as Python, with a function in place of its address."""

    def at(address: int, like: Any) -> Any:
        kind = np.ctypeslib.as_ctypes_type(np.asarray(like).dtype)
        return kind.from_address(int(address))

    def load_word(address: int, like: Any) -> Any:
        return type(like)(at(address, like).value)

    def store_word(address: int, value: Any) -> None:
        at(address, value).value = value

    def copy_bytes(target: int, source: int, count: int) -> None:
        ctypes.memmove(int(target), int(source), int(count))

    return load_word, store_word, lambda function, arguments: function(*arguments), copy_bytes


load = cast("Callable[[Any, Any], Any]", intrinsic(_load))
"""`load(address, like)`: the value of the type of `like` at an address."""

copy = cast("Callable[[Any, Any, Any], None]", intrinsic(_copy))
"""`copy(target, source, count)`: that many bytes from one address to another."""

store = cast("Callable[[Any, Any], None]", intrinsic(_store))
"""`store(address, value)`."""

call = cast("Callable[[Any, Any], int]", intrinsic(_call))
"""`call(function, (a, b, ...))`: the function at an address, of 64-bit words to one."""

if getattr(config, "DISABLE_JIT", 0):
    load, store, call, copy = _as_python()
