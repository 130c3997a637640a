"""Instructions that Numba does not offer: for words that threads share, for the caches, and to wait.

A `load` sees all that was stored before the word it reads, a `store` comes after all before it. On x86 both
compile to plain moves; what they forbid is that the compiler moves other loads and stores across.

Why acquire and release are enough for these two: every word that they are used for has one writer, and every
reader only needs to see what that writer stored before it. No two words are ever compared with each other
across threads, so no order among stores of different writers is needed, and no fence. Where several threads
write one word, they use `atomic_add` and `atomic_exchange`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

LINE_WORDS = 8
"""Words of 64 bits in a cache line."""
_WORD_BYTES = 8


def _item(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    view = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, view, [index])  # type: ignore[no-untyped-call]


def _load(typing: Any, words: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_item(context, builder, words, *arguments), "acquire", _WORD_BYTES)

    return types.int64(words, types.intp), generate


def _store(typing: Any, words: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _item(context, builder, words, *arguments[:2])
        builder.store_atomic(arguments[2], pointer, "release", _WORD_BYTES)
        return context.get_dummy_value()

    return types.void(words, types.intp, types.int64), generate


def _add(typing: Any, array: Any, index: Any, more: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _item(context, builder, array, *arguments[:2])
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return array.dtype(array, types.intp, array.dtype), generate


def _exchange(typing: Any, array: Any, index: Any, seen: Any, wanted: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _item(context, builder, array, *arguments[:2])
        found = builder.cmpxchg(pointer, arguments[2], arguments[3], "seq_cst", "seq_cst")
        return builder.extract_value(found, 0)

    return array.dtype(array, types.intp, array.dtype, array.dtype), generate


def _fence(typing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        pointer = builder.bitcast(_item(context, builder, array, *arguments), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        fetch = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, kind, "llvm.prefetch.p0"
        )
        builder.call(fetch, [pointer, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _stream_line(typing: Any, to: Any, to_index: Any, source: Any, source_index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        line = ir.VectorType(ir.IntType(64), LINE_WORDS).as_pointer()
        target = builder.bitcast(_item(context, builder, to, *arguments[:2]), line)
        origin = builder.bitcast(_item(context, builder, source, *arguments[2:]), line)
        stored = builder.store(builder.load(origin, align=8), target, align=64)
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))
        return context.get_dummy_value()

    return types.void(to, types.intp, source, types.intp), generate


def _cycles(typing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        counter = ir.FunctionType(ir.IntType(64), [])
        return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=counter), [])

    return types.int64(), generate


load = cast("Callable[[Any, int], int]", intrinsic(_load))
"""`load(words, index)`: the word, and all that was stored before it."""

store = cast("Callable[[Any, int, int], None]", intrinsic(_store))
"""`store(words, index, value)`, after all that was stored before."""

atomic_add = cast("Callable[[Any, Any, Any], Any]", intrinsic(_add))
"""`atomic_add(array, index, more)`: add, and return what was there before."""

atomic_exchange = cast("Callable[[Any, Any, Any, Any], Any]", intrinsic(_exchange))
"""`atomic_exchange(array, index, seen, wanted)`: write `wanted` if `seen` is there; return what was there."""

fence = cast("Callable[[], None]", intrinsic(_fence))
"""What was written is seen by others before what is written from now on."""

prefetch = cast("Callable[[Any, Any], None]", intrinsic(_prefetch))
"""`prefetch(array, index)`: begin to bring an element into the cache, and do not wait."""

stream_line = cast("Callable[[Any, Any, Any, Any], None]", intrinsic(_stream_line))
"""`stream_line(to, to_index, source, source_index)`: copy a cache line of 64-bit words, past the cache; its
target begins at a multiple of 64 bytes."""

cycles = cast("Callable[[], int]", intrinsic(_cycles))
"""The processor's counter of time: it costs about twenty cycles to read, a system call thousands."""

give_way = cast("Callable[[], int]", types.ExternalFunction("sched_yield", types.int32()))
"""Let another thread have the processor."""

doze_us = cast("Callable[[int], int]", types.ExternalFunction("usleep", types.int32(types.uint32)))
"""Sleep for a number of microseconds; the kernel adds about fifty."""


def _as_python() -> tuple[Any, ...]:
    """For one thread that runs kernels as Python, step by step."""

    def store_word(words: Any, index: int, value: int) -> None:
        words[index] = value

    return (lambda words, index: int(words[index])), store_word, (lambda: 0), (lambda array, index: None)


if getattr(config, "DISABLE_JIT", 0):
    load, store, cycles, prefetch = _as_python()
