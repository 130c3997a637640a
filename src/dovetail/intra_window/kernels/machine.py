"""Instructions that Numba does not offer: prefetching, atomic changes to memory that threads share, and
stores past the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

LINE_WORDS = 8
"""Words of 64 bits in a cache line."""


def _item(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    view = make_array(array_type)(context, builder, array)  # type: ignore[no-untyped-call]
    return cgutils.get_item_pointer(  # type: ignore[no-untyped-call]
        context, builder, array_type, view, [index], wraparound=False
    )


def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        pointer = builder.bitcast(_item(context, builder, array, *arguments), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        fetch = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, kind, "llvm.prefetch.p0i8"
        )
        builder.call(fetch, [pointer, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


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


def _stream_line(typing: Any, to: Any, to_index: Any, source: Any, source_index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        line = ir.VectorType(ir.IntType(64), LINE_WORDS).as_pointer()
        target = builder.bitcast(_item(context, builder, to, *arguments[:2]), line)
        origin = builder.bitcast(_item(context, builder, source, *arguments[2:]), line)
        stored = builder.store(builder.load(origin, align=8), target, align=64)
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))
        return context.get_dummy_value()

    return types.void(to, types.intp, source, types.intp), generate


def _fence(typing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


prefetch = cast("Callable[[Any, Any], None]", intrinsic(_prefetch))
"""`prefetch(array, index)`: begin to bring an element into the cache, and do not wait."""

atomic_add = cast("Callable[[Any, Any, Any], Any]", intrinsic(_add))
"""`atomic_add(array, index, more)`: add, and return what was there before."""

atomic_exchange = cast("Callable[[Any, Any, Any, Any], Any]", intrinsic(_exchange))
"""`atomic_exchange(array, index, seen, wanted)`: write `wanted` if `seen` is there; return what was there."""

stream_line = cast("Callable[[Any, Any, Any, Any], None]", intrinsic(_stream_line))
"""`stream_line(to, to_index, source, source_index)`: copy a cache line of 64-bit words, past the cache; its
target begins at a multiple of 64 bytes."""

fence = cast("Callable[[], None]", intrinsic(_fence))
"""What was written is seen by others before what is written from now on."""
