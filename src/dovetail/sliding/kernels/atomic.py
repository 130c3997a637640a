"""Words that two threads share: loads that see all that was stored before the word they read, stores that
come after all before them, and ways to wait.

On x86 both compile to plain moves; what they forbid is that the compiler moves other loads and stores across.

Why acquire and release are enough: every shared word has one writer, and every reader only needs to see what
that writer stored before it. No two words are ever compared with each other across threads, so no order among
stores of different writers is needed, and no fence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

_WORD_BYTES = 8


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    made = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, made, [index])  # type: ignore[no-untyped-call]


def _load(typing_context: Any, words: Any, index: Any) -> Any:
    """`words[index]`, and all that was stored before it."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _address(context, builder, sig.args[0], args[0], args[1])
        return builder.load_atomic(pointer, "acquire", _WORD_BYTES)

    return types.int64(words, types.intp), code


def _store(typing_context: Any, words: Any, index: Any, value: Any) -> Any:
    """`words[index] = value`, after all that was stored before."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _address(context, builder, sig.args[0], args[0], args[1])
        builder.store_atomic(args[2], pointer, "release", _WORD_BYTES)
        return context.get_dummy_value()

    return types.void(words, types.intp, types.int64), code


def _cycles(typing_context: Any) -> Any:
    """The processor's counter of time: it costs some twenty cycles to read, a system call thousands."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        function = builder.module.declare_intrinsic(
            "llvm.readcyclecounter", fnty=ir.FunctionType(ir.IntType(64), [])
        )
        return builder.call(function, [])

    return types.int64(), code


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Have the memory of `array[index]` on its way."""

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _address(context, builder, sig.args[0], args[0], args[1])
        byte_pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte_pointer.type, word, word, word])
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [byte_pointer, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), code


def _as_python() -> tuple[Any, ...]:
    """For one thread that runs kernels as Python, step by step."""

    def store_word(words: Any, index: int, value: int) -> None:
        words[index] = value

    return (lambda words, index: int(words[index])), store_word, (lambda: 0), (lambda array, index: None)


load: Callable[[Any, int], int]
store: Callable[[Any, int, int], None]
cycles: Callable[[], int]
prefetch: Callable[[Any, int], None]
if getattr(config, "DISABLE_JIT", 0):
    load, store, cycles, prefetch = _as_python()
else:
    load, store, cycles, prefetch = (
        cast("Any", intrinsic(one)) for one in (_load, _store, _cycles, _prefetch)
    )

give_way = cast("Callable[[], int]", types.ExternalFunction("sched_yield", types.int32()))
"""Let another thread have the processor."""
doze_us = cast("Callable[[int], int]", types.ExternalFunction("usleep", types.int32(types.uint32)))
"""Sleep for a number of microseconds; the kernel adds about fifty."""
